"""The clock of an installation: the machine's, or that of a replayed trace."""

from pathlib import Path

from planner.clock import Clock, RealClock, TraceClock


def clock_of_kind(kind: str, file: Path) -> Clock:
    """The clock named by FORESCALE_CLOCK: `real`, or `trace` or `paced`, which are kept in the file."""
    if kind in ("trace", "paced"):
        return TraceClock(file, paced=kind == "paced")
    if kind == "real":
        return RealClock()
    raise ValueError(f"clock {kind!r} is not known; FORESCALE_CLOCK is 'real', 'trace' or 'paced'")
