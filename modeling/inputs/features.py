"""Features of a job that an engine reports and the model leaves out."""

from enum import StrEnum


class Feature(StrEnum):
    """UNALIGNED_CHECKPOINTS: tuples in buffers become part of checkpoints. STATE_ON_DISK: state whose access slows down
    as it grows, as in RocksDB.
    """

    UNALIGNED_CHECKPOINTS = "unaligned_checkpoints"
    STATE_ON_DISK = "state_on_disk"
