"""Approvals: who gave one, and which ones a new schedule inherits; and what stands after a plan of a person runs."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.database import Records
from planner.ledger.entries import StepEntry, schedule_entry, step_entry
from planner.ledger.schedule_rows import is_newest, schedule_row_of
from planner.ledger.step_state import TO_DEPLOY, WAITING, Approval, StepState
from planner.ledger.tables import ScheduleTable, StepEventTable, StepTable
from planner.ledger.transitions import ask_because, move_step, step_row
from planner.step_cause import ReviewCause, StepCause, StepCauseKind

INHERITED = "earlier approval"
"""Approver, in the ledger, of a step that inherits the approval of an equal one."""


class Approvals(Records):
    """Who approved what, and what needs no second approval."""

    def inherit(self, schedule_id: str, *, within: timedelta, at: datetime) -> list[str]:
        """Approve proposed steps of the newest schedule that equal an approved, waiting step. Returns their ids.

        Equal: the same plan replaces the same one, at most `within` from the deploy time that a person approved, so
        that small delays do not add up. The earlier step is superseded.
        """
        with self._database.session() as session:
            row = schedule_row_of(session, schedule_id)
            self._database.lock(session.connection(), row.topology)
            if row.shadow or not is_newest(session, row):
                return []
            own = _steps(session, row.topology, (StepState.PROPOSED,))
            proposed = [step for step in own if step.schedule_id == schedule_id]
            standing = _others(session, row.topology, schedule_id, (StepState.APPROVED,))
            inherited = []
            for step in proposed:
                before = [other for other in standing if _same(step, other, within)]
                given = _approval(session, step, within)
                if not (before and given):
                    continue
                nearest = min(before, key=lambda other: abs(other.deploy_at - step.deploy_at))
                standing.remove(nearest)
                first, by, _ = given
                expected, to = StepState.APPROVED, StepState.SUPERSEDED
                why = StepCause(StepCauseKind.SAME_STEP, step=step.id)
                move_step(session, nearest.id, expected=expected, to=to, at=at, by=INHERITED, why=why)
                expected, to = StepState.PROPOSED, StepState.APPROVED
                kind, detail = StepCauseKind.APPROVED_BEFORE, step.reason
                why = StepCause(kind, by=by, step=first.id, at=first.deploy_at, detail=detail)
                how = Approval.INHERITED
                move_step(session, step.id, expected=expected, to=to, at=at, by=INHERITED, why=why, approval=how)
                inherited.append(step.id)
        return inherited

    def standing(self, schedule_id: str) -> list[StepEntry]:
        """Approved, waiting steps of the topology's other schedules, by time: approving this schedule would call them
        off.
        """
        with self._database.session() as session:
            row = schedule_row_of(session, schedule_id)
            return _others(session, row.topology, schedule_id, TO_DEPLOY)

    def approver(self, step_id: str) -> str:
        """Who approved a step, or the one it inherits from; empty if nobody has."""
        return self.approved(step_id)[0]

    def approved(self, step_id: str) -> tuple[str, Approval | None]:
        """Who approved a step, or the one it inherits from, and how; empty and None if nobody has."""
        with self._database.session() as session:
            step = step_entry(step_row(session, step_id))
            query = select(StepEventTable.by, StepEventTable.approval).where(
                StepEventTable.step_id == step_id, StepEventTable.to_state == StepState.APPROVED.value
            )
            for by, how in session.execute(query.order_by(StepEventTable.id).limit(1)):
                if how == Approval.INHERITED.value and (given := _approval(session, step, None)):
                    return given[1], given[2]
                return by, Approval(how) if how else None
        return "", None

    def ask(self, step_id: str, cause: ReviewCause) -> None:
        """Store why a person must approve a proposed step. Idempotent."""
        with self._database.session() as session:
            ask_because(session, step_id, cause)


def _steps(session: Session, topology: str, states: Sequence[StepState]) -> list[StepEntry]:
    query = select(StepTable).where(
        StepTable.topology == topology,
        StepTable.schedule_id.is_not(None),
        StepTable.state.in_([state.value for state in states]),
    )
    rows = session.scalars(query.order_by(StepTable.deploy_at, StepTable.position, StepTable.id))
    return [step_entry(row) for row in rows]


def _others(session: Session, topology: str, schedule_id: str, states: Sequence[StepState]) -> list[StepEntry]:
    return [step for step in _steps(session, topology, states) if step.schedule_id != schedule_id]


def _same(step: StepEntry, other: StepEntry, within: timedelta | None) -> bool:
    near = within is None or abs(other.deploy_at - step.deploy_at) <= within
    return near and other.plan == step.plan and other.replaces.same_parallelism(step.replaces)


def _approval(
    session: Session, step: StepEntry, within: timedelta | None
) -> tuple[StepEntry, str, Approval | None] | None:
    """The last approval of an equal step of any schedule that was not inherited, who gave it, and how."""
    query = (
        select(StepTable, StepEventTable.by, StepEventTable.approval)
        .join(StepEventTable, StepEventTable.step_id == StepTable.id)
        .where(
            StepTable.topology == step.topology,
            StepTable.schedule_id.is_not(None),
            StepEventTable.from_state == StepState.PROPOSED.value,
            StepEventTable.to_state == StepState.APPROVED.value,
            StepEventTable.approval != Approval.INHERITED.value,
        )
        .order_by(StepEventTable.id.desc())
    )
    if within is not None:
        query = query.where(StepTable.deploy_at.between(step.deploy_at - within, step.deploy_at + within))
    for row, by, how in session.execute(query):
        if _same(step, entry := step_entry(row), within):
            return entry, by, Approval(how) if how else None
    return None


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
            why = StepCause(StepCauseKind.BY_HAND, plan=dict(step.plan.parallelism), step=step.id)
            move_step(session, other.id, expected=other.state, to=StepState.SUPERSEDED, at=at, by=by, why=why)


def _in_place(session: Session, schedule_id: str, current: PhysicalPlan) -> PhysicalPlan:
    """The plan of the schedule's last verified step, or the one that it began with."""
    verified = select(StepTable).where(
        StepTable.schedule_id == schedule_id, StepTable.state == StepState.VERIFIED.value
    )
    last = session.scalars(verified.order_by(StepTable.position.desc()).limit(1)).first()
    return current if last is None else step_entry(last).plan
