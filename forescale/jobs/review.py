"""The review of a schedule: a person (or the setting that switches review off) approves or vetoes its steps."""

from typing import Any

from forescale.settings import Settings
from forescale.wiring.parts import clock_of, ledger_of
from planner.ledger.step_state import WAITING, StepState


def review(schedule_id: str, *, approve: bool, by: str, why: str = "") -> dict[str, Any]:
    """Approve the schedule's proposed steps, in place of what waits of earlier schedules, or veto its waiting steps.

    Doing it again changes nothing.

    Returns {"schedule_id", "steps": {step id: state}}. Raises LedgerError for an unknown schedule.
    """
    settings = Settings()
    ledger, now = ledger_of(settings), clock_of(settings).now()
    ledger.schedule(schedule_id)
    if approve:
        ledger.approve_schedule(schedule_id, at=now, by=by, why=why or f"approved by {by}")
    else:
        for step in ledger.steps(schedule_id=schedule_id, states=WAITING):
            reason = why or f"vetoed by {by}"
            ledger.transition(step.id, expected=step.state, to=StepState.VETOED, at=now, by=by, why=reason)
    return {
        "schedule_id": schedule_id,
        "steps": {step.id: str(step.state) for step in ledger.steps(schedule_id=schedule_id)},
    }
