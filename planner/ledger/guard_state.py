"""Where an action of the guard stands."""

from enum import StrEnum


class GuardState(StrEnum):
    """OPEN: its step is being deployed, or its effect is awaited. The next three are its verdict."""

    OPEN = "open"
    EFFECTIVE = "effective"
    INEFFECTIVE = "ineffective"
    MOOT = "moot"
    ADVISED = "advised"
