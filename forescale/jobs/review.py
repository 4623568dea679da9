"""The review of a schedule: a person (or the setting that switches review off) approves or vetoes its steps."""

from collections.abc import Mapping
from dataclasses import dataclass

from forescale.settings import Settings
from forescale.wiring.parts import clock_of, ledger_of
from planner.ledger.step_state import WAITING, StepState


@dataclass(frozen=True)
class ReviewedSchedule:
    """steps: the state of each step of the schedule, by its id."""

    schedule_id: str
    steps: Mapping[str, StepState]


def review(settings: Settings, schedule_id: str, *, approve: bool, by: str, why: str = "") -> ReviewedSchedule:
    """Approve the schedule's proposed steps, in place of what waits of earlier schedules, or veto its waiting steps.

    Doing it again changes nothing. Raises LedgerError for an unknown schedule.
    """
    ledger, now = ledger_of(settings), clock_of(settings).now()
    ledger.schedule(schedule_id)
    if approve:
        ledger.approve_schedule(schedule_id, at=now, by=by, why=why or f"approved by {by}")
    else:
        for step in ledger.steps(schedule_id=schedule_id, states=WAITING):
            reason = why or f"vetoed by {by}"
            ledger.transition(step.id, expected=step.state, to=StepState.VETOED, at=now, by=by, why=reason)
    return ReviewedSchedule(schedule_id, {step.id: step.state for step in ledger.steps(schedule_id=schedule_id)})
