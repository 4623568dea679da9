"""Adjusts a step after skipped ones, withheld or past their time: the plans it was to follow never ran."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from planner.ledger.entries import StepEntry, step_entry
from planner.ledger.step_state import TO_DEPLOY, Moved, StepState
from planner.ledger.tables import StepEventTable, StepTable
from planner.ledger.transitions import assume, move_step, step_row
from planner.step_cause import StepCause, StepCauseKind


def take_skipped_places(session: Session, step_id: str, *, at: datetime, by: str) -> StepEntry:
    """Let the step replace what the skipped steps right before it would have replaced. Idempotent.

    Otherwise each step after a missed one would be refused, as no cluster runs the missed plan. Withheld ones that
    still wait are called off. A step that may not be deployed now is returned unchanged.
    """
    session.execute(select(StepTable.id).where(StepTable.id == step_id).with_for_update())  # no veto in between
    step = step_entry(step_row(session, step_id))
    if step.schedule_id is None or step.state not in TO_DEPLOY or not step.deploy_at <= at < step.expires_at:
        return step
    before = select(StepTable).where(StepTable.schedule_id == step.schedule_id, StepTable.position < step.position)
    replaces, moved = step.replaces, Moved.PAST_WITHHELD
    for row in session.scalars(before.order_by(StepTable.position.desc()).with_for_update()).all():
        earlier = step_entry(row)
        withheld = _withheld(session, earlier)
        if not ((withheld or _never_begun(earlier)) and earlier.plan.same_parallelism(replaces)):
            break
        if not withheld:
            moved = Moved.PAST_EXPIRED
        if earlier.state is StepState.WITHHELD:
            why = StepCause(StepCauseKind.STEP_AFTER, step=step.id)
            move_step(session, earlier.id, expected=earlier.state, to=StepState.SUPERSEDED, at=at, by=by, why=why)
        replaces = earlier.replaces
    if replaces.same_parallelism(step.replaces):
        return step
    assume(
        session,
        step.id,
        expected=step.state,
        plan=step.plan,
        replaces=replaces,
        at=at,
        by=by,
        why=step.why,
        moved=moved,
    )
    return step_entry(step_row(session, step.id))


def _withheld(session: Session, step: StepEntry) -> bool:
    """Whether a step waits withheld, or expired while it did."""
    if step.state is not StepState.EXPIRED:
        return step.state is StepState.WITHHELD
    before = select(StepEventTable.from_state).where(
        StepEventTable.step_id == step.id, StepEventTable.to_state == StepState.EXPIRED.value
    )
    return session.scalars(before.order_by(StepEventTable.id.desc()).limit(1)).first() == StepState.WITHHELD.value


def _never_begun(step: StepEntry) -> bool:
    """Whether a step's time went by before the cluster was asked, as it could not be reached or nothing deployed."""
    return step.state is StepState.EXPIRED or (step.state is StepState.ROLLED_BACK and step.never_asked)
