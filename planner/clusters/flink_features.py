"""Features of a Flink job that the model leaves out."""

from engines.flink.answers import CheckpointConfig
from modeling.inputs.operator_profile import Feature

_IN_MEMORY = ("HashMapStateBackend", "MemoryStateBackend", "FsStateBackend")


def reported_features(config: CheckpointConfig | None) -> tuple[Feature, ...]:
    """None: without checkpoints, Flink does not say where state is kept.

    >>> reported_features(CheckpointConfig(state_backend="EmbeddedRocksDBStateBackend"))
    (<Feature.STATE_ON_DISK: 'state_on_disk'>,)
    """
    found = []
    if config is not None and config.unaligned:
        found.append(Feature.UNALIGNED_CHECKPOINTS)
    if config is not None and config.state_backend is not None and config.state_backend not in _IN_MEMORY:
        found.append(Feature.STATE_ON_DISK)
    return tuple(found)
