"""Clocks: the machine's, and one that belongs to a trace and moves only when a caller waits on it."""

import fcntl
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from forecasting.arrivals.grid import EPOCH, LATEST, in_calendar
from forecasting.bounded_file import bounded_text
from planner.errors import PlanError

__all__ = ["EPOCH", "LATEST", "Clock", "RealClock", "TraceClock"]

MAX_CLOCK_BYTES = 1024


class Clock(Protocol):
    """Source of `now`, and a way to let time pass."""

    def now(self) -> datetime:
        """The present moment, UTC."""
        ...

    def wait(self, seconds: float) -> None:
        """Let that many seconds go by on this clock."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def wait(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class TraceClock:
    """The clock of a replayed trace, kept in a file so that several processes share it.

    It stands still until a caller waits on it or moves it, and never goes back. paced: waiting takes real time as well,
    for a real cluster under a replayed trace.
    """

    def __init__(self, path: Path, *, paced: bool = False) -> None:
        self.path = path
        self.paced = paced

    def now(self) -> datetime:
        text = ""
        try:
            text = bounded_text(self.path, MAX_CLOCK_BYTES).strip()
            return in_calendar(datetime.fromisoformat(text)).astimezone(UTC)
        except FileNotFoundError:
            raise PlanError(f"trace clock {self.path} does not exist; start it with `forescale demo`") from None
        except OSError as error:
            raise PlanError(f"trace clock {self.path} cannot be read: {error.strerror or error}") from None
        except ValueError as error:
            raise PlanError(
                f"trace clock {self.path} holds {text[:40]!r}: {error}; write an ISO time with its offset into it"
            ) from None

    def wait(self, seconds: float) -> None:
        if self.paced:
            time.sleep(max(0.0, seconds))
        self._move(lambda now: now + timedelta(seconds=max(0.0, seconds)))

    def advance_to(self, moment: datetime) -> None:
        """Move to that moment; a past moment changes nothing."""
        self._move(lambda now: max(now, moment))

    def start_at(self, moment: datetime) -> None:
        """Set the clock, whatever it showed before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write(moment)

    def _move(self, moved: Callable[[datetime], datetime]) -> None:
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._write(moved(self.now()))

    def _write(self, moment: datetime) -> None:
        temporary = self.path.with_suffix(".new")
        temporary.write_text(moment.astimezone(UTC).isoformat())
        temporary.replace(self.path)
