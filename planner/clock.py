"""Clocks: the real one, and one that belongs to a trace and moves only when somebody waits on it."""

import fcntl
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from planner.errors import PlanError


class Clock(Protocol):
    """Where `now` comes from, and how to let time pass."""

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

    It stands still until somebody waits on it or moves it, and never goes back.
    paced: waiting takes real time as well, for a real cluster under a replayed trace.
    """

    def __init__(self, path: Path, *, paced: bool = False) -> None:
        self.path = path
        self.paced = paced

    def now(self) -> datetime:
        try:
            return datetime.fromisoformat(self.path.read_text().strip())
        except FileNotFoundError:
            raise PlanError(f"trace clock {self.path} does not exist; start it with `forescale demo`") from None
        except ValueError:
            raise PlanError(
                f"trace clock {self.path} holds {self.path.read_text()!r}; write an ISO time into it"
            ) from None

    def wait(self, seconds: float) -> None:
        if self.paced:
            time.sleep(max(0.0, seconds))
        self._move(lambda now: now + timedelta(seconds=max(0.0, seconds)))

    def advance_to(self, moment: datetime) -> None:
        """Move to that moment; a moment that is past changes nothing."""
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
