"""What stands after a plan of a person runs: no schedule that has another plan in place."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.entries import StepEntry, schedule_entry, step_entry
from planner.ledger.step_state import WAITING, StepState
from planner.ledger.tables import ScheduleTable, StepTable
from planner.ledger.transitions import move_step


def replace_by_hand(session: Session, step: StepEntry, *, at: datetime, by: str) -> None:
    """Mark the topology's schedule in force as replaced by a person's verified step, and call off its waiting steps,
    unless that step's plan is the one that the schedule has in place. In floor mode plans are lower bounds of whatever
    runs, and in shadow mode nothing of them runs, so these stand. Idempotent.
    """
    newest = select(ScheduleTable).where(ScheduleTable.topology == step.topology, ScheduleTable.set_aside_at.is_(None))
    row = session.scalars(newest.order_by(ScheduleTable.made_at.desc(), ScheduleTable.id).limit(1)).first()
    if row is None or row.shadow or row.made_at > at:
        return
    made = schedule_entry(row, ())
    if made.schedule.basis.floor or _in_place(session, made.id, made.schedule.current).same_parallelism(step.plan):
        return
    row.replaced_by = step.id
    waiting = select(StepTable).where(
        StepTable.topology == step.topology,
        StepTable.schedule_id.is_not(None),
        StepTable.state.in_([state.value for state in WAITING]),
    )
    for other in [step_entry(each) for each in session.scalars(waiting.with_for_update())]:
        if not other.replaces.same_parallelism(step.plan):
            why = f"{step.plan.brief()} was deployed by hand (step {step.id}): decide anew"
            move_step(session, other.id, expected=other.state, to=StepState.SUPERSEDED, at=at, by=by, why=why)


def _in_place(session: Session, schedule_id: str, current: PhysicalPlan) -> PhysicalPlan:
    """The plan of the schedule's last verified step, or the one that it began with."""
    verified = select(StepTable).where(
        StepTable.schedule_id == schedule_id, StepTable.state == StepState.VERIFIED.value
    )
    last = session.scalars(verified.order_by(StepTable.position.desc()).limit(1)).first()
    return current if last is None else step_entry(last).plan
