"""Where one topology stands, as the pages show it."""

from dataclasses import dataclass
from datetime import datetime

from planner.ledger.entries import ScheduleEntry, StepEntry


@dataclass(frozen=True)
class Standing:
    """newest: the last schedule, None where nothing was ever decided. running: the plan by the ledger, in brief;
    running_since: when it was verified, or looked at last. next_step: the first that waits, of waiting ones.
    in_violation, known: minutes of the past week; allowed: of these, None where such a minute has a price. alarms: what
    somebody should see to, worst first.
    """

    topology: str
    newest: ScheduleEntry | None = None
    running: str = ""
    running_since: datetime | None = None
    next_step: StepEntry | None = None
    waiting: int = 0
    in_violation: int = 0
    known: int = 0
    allowed: float | None = None
    alarms: tuple[str, ...] = ()
