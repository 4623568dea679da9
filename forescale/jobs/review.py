"""The review of a schedule: a person (or the setting that switches review off) approves or vetoes its steps."""

from collections.abc import Mapping
from dataclasses import dataclass

from forescale.situation.workspace import Workspace
from planner.errors import PlanError
from planner.ledger.step_state import WAITING, StepState


@dataclass(frozen=True)
class ReviewedSchedule:
    """steps: the state of each step of the schedule, by its id."""

    schedule_id: str
    steps: Mapping[str, StepState]


def review(workspace: Workspace, schedule_id: str, *, approve: bool, by: str, why: str = "") -> ReviewedSchedule:
    """Approve the schedule's proposed steps, instead of waiting steps of earlier schedules, or veto its waiting steps.

    Idempotent. Raises LedgerError for an unknown schedule and for one made in shadow mode, PlanError for the approval
    of any other while the topology is in shadow mode.
    """
    ledger, now = workspace.ledger, workspace.clock.now()
    made = ledger.schedule(schedule_id)
    if approve:
        if not made.shadow and workspace.config(made.schedule.topology).planning.shadow:
            raise PlanError(
                f"schedule {schedule_id} is not approved: topology {made.schedule.topology!r} is in shadow mode; set "
                "planning.mode: act in its file and plan again"
            )
        ledger.approve_schedule(schedule_id, at=now, by=by, why=why)
    else:
        for step in ledger.steps(schedule_id=schedule_id, states=WAITING):
            ledger.transition(step.id, expected=step.state, to=StepState.VETOED, at=now, by=by, why=why)
    return ReviewedSchedule(schedule_id, {step.id: step.state for step in ledger.steps(schedule_id=schedule_id)})
