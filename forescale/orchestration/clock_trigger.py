"""The wait for a moment on a clock, run by Airflow's triggerer: holds no worker, survives a restart."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.triggers.base import BaseTrigger, TaskSuccessEvent, TriggerEvent

from forescale.wiring.clock import clock_of_kind

MAX_PAUSE_S = 30.0
"""Longest pause between looks: a machine's clock may be set, or the machine may sleep."""
TRACE_PAUSE_S = 0.5
"""Pause for a trace clock, which jumps: the remaining time says nothing."""


class ClockReached(BaseTrigger):
    """Ends its task with success, or resumes it, once the clock shows the moment; at once if it is past.

    moment: ISO time with a zone. clock: `real`, `trace` or `paced`; clock_file: of a trace clock.
    A trace clock that cannot be read fails the task with PlanError; its retry waits again.
    """

    def __init__(self, moment: str, clock: str, clock_file: str, resumes: bool = False) -> None:
        super().__init__()
        self.moment = moment
        self.clock = clock
        self.clock_file = clock_file
        self.resumes = resumes

    def serialize(self) -> tuple[str, dict[str, Any]]:
        kwargs = {name: getattr(self, name) for name in ("moment", "clock", "clock_file", "resumes")}
        return f"{type(self).__module__}.{type(self).__qualname__}", kwargs

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while (remaining_s := await asyncio.to_thread(self.remaining_s)) > 0:
            await asyncio.sleep(pause_s(remaining_s, self.clock))
        yield TriggerEvent(self.moment) if self.resumes else TaskSuccessEvent()

    def remaining_s(self) -> float:
        """Seconds until the moment, on the clock; not positive once it is reached."""
        now = clock_of_kind(self.clock, Path(self.clock_file)).now()
        return (datetime.fromisoformat(self.moment) - now).total_seconds()


def pause_s(remaining_s: float, clock: str) -> float:
    """Seconds to sleep before the clock is read again."""
    return min(max(remaining_s, 0.05), MAX_PAUSE_S) if clock == "real" else TRACE_PAUSE_S
