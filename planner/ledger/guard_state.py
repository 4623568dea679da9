"""The states of a guard action."""

from enum import StrEnum


class GuardState(StrEnum):
    """OPEN: its step is being deployed, or its effect is not yet judged. The next three are verdicts."""

    OPEN = "open"
    EFFECTIVE = "effective"
    INEFFECTIVE = "ineffective"
    MOOT = "moot"
    ADVISED = "advised"
