"""A large rescale that is due close to one of another topology: moved earlier, or what keeps it where it is."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class KeptBy(StrEnum):
    """What keeps a rescale from being asked for earlier."""

    NOW = "now"
    DWELL = "dwell"
    FREEZE = "freeze"
    QUOTA = "quota"


@dataclass(frozen=True)
class NearRescale:
    """started: instances that the rescale of `topology` at `at` starts; other_started: those of the one of `other`,
    apart_s seconds from it. earlier_s: how much earlier it is asked for; 0 if it stays, and kept_by says why. since,
    until: of the freeze; for a dwell, since is the request of the step before. quota, quota_instances: name and size of
    the quota that it would pass.
    """

    topology: str
    at: datetime
    started: int
    other: str
    other_started: int
    apart_s: float
    earlier_s: float = 0.0
    kept_by: KeptBy | None = None
    since: datetime | None = None
    until: datetime | None = None
    quota: str = ""
    quota_instances: int = 0
