"""Transitions of a step: compare-and-set, each one recorded as an event."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import LedgerError
from planner.guard_facts import REASON, Reason
from planner.ledger.step_state import FOLLOWS, Approval, Maker, Moved, StepState
from planner.ledger.tables import StepEventTable, StepTable
from planner.schedule_json import plan_to_json
from planner.step_cause import REVIEW_CAUSE, STEP_CAUSE, ReviewCause, StepCause, StepCauseKind, Why, because


def add_step(session: Session, step: StepTable) -> None:
    """Insert a step in its first state."""
    session.add(step)
    session.flush()
    state = StepState(step.state)
    approval = Approval.PERSON if state is StepState.APPROVED and step.made_by == Maker.PERSON.value else None
    why = STEP_CAUSE.from_json(step.cause) if step.cause else step.reason
    _write_down(session, step.id, None, state, step.updated_at, step.updated_by, why, approval)


def move_step(
    session: Session,
    step_id: str,
    *,
    expected: StepState,
    to: StepState,
    at: datetime,
    by: str,
    why: Why,
    approval: Approval | None = None,
) -> None:
    """One UPDATE that matches the step only in its expected state. approval: how, for a move to APPROVED. Raises
    LedgerError if it does not match.
    """
    if to not in FOLLOWS[expected]:
        allowed = ", ".join(sorted(FOLLOWS[expected])) or "nothing: it is final"
        raise LedgerError(f"step {step_id}: {to!s} does not follow {expected!s}; what may follow is {allowed}")
    changes: dict[str, object] = {"state": to.value, "updated_at": at, "updated_by": by} | because(why)
    if to is StepState.DEPLOYING:
        changes["attempt"] = StepTable.attempt + 1
    _change(session, step_id, expected, changes)
    _write_down(session, step_id, expected, to, at, by, why, approval)


def take_back(
    session: Session, step_id: str, *, expected: StepState, to: StepState, at: datetime, by: str, why: Why
) -> None:
    """Return a step that was called off by mistake to a waiting state. Raises LedgerError unless it is expected."""
    changes = {"state": to.value, "updated_at": at, "updated_by": by}
    _change(session, step_id, expected, changes | because(why))
    _write_down(session, step_id, expected, to, at, by, why)


def begin_again(session: Session, step_id: str, *, expected: StepState, at: datetime, by: str, why: Why) -> None:
    """Begin another attempt at a deployment that was cut short. Raises LedgerError unless the step is in that state."""
    changes: dict[str, object] = {"attempt": StepTable.attempt + 1, "updated_at": at, "updated_by": by}
    _change(session, step_id, expected, changes | because(why))
    _write_down(session, step_id, expected, expected, at, by, why)


def ask_because(session: Session, step_id: str, cause: ReviewCause) -> None:
    """Store why a person has to approve a proposed step. Raises LedgerError unless it is proposed."""
    _change(session, step_id, StepState.PROPOSED, {"review_cause": REVIEW_CAUSE.to_json(cause)})


def note_never_asked(session: Session, step_id: str) -> None:
    """Store that a step was rolled back before the cluster was asked."""
    _change(session, step_id, StepState.ROLLED_BACK, {"never_asked": True})


def note_withheld(session: Session, step_id: str, reason: Reason) -> None:
    """Store why a step waits. Raises LedgerError unless it is withheld."""
    _change(session, step_id, StepState.WITHHELD, {"withheld": REASON.to_json(reason)})


def assume(
    session: Session,
    step_id: str,
    *,
    expected: StepState,
    plan: PhysicalPlan,
    replaces: PhysicalPlan,
    at: datetime,
    by: str,
    why: Why,
    moved: Moved | None = None,
) -> None:
    """Replace the plans that a step deploys and replaces. Raises LedgerError unless it is in the expected state."""
    changes: dict[str, object] = {"plan": plan_to_json(plan), "replaces": plan_to_json(replaces)}
    changes |= {"moved": moved.value} if moved is not None else {}
    _change(session, step_id, expected, changes | {"updated_at": at, "updated_by": by} | because(why))
    _write_down(session, step_id, expected, expected, at, by, why)


def supersede_others(
    session: Session,
    topology: str,
    schedule_id: str,
    states: Collection[StepState],
    *,
    at: datetime,
    by: str,
    due_from: datetime | None = None,
) -> None:
    """Call off the topology's steps in these states of all other schedules.

    due_from: only those due then or later. Steps that a person made stay.
    """
    earlier = select(StepTable).where(
        StepTable.topology == topology,
        StepTable.schedule_id.is_not(None),
        StepTable.schedule_id != schedule_id,
        StepTable.state.in_([state.value for state in states]),
    )
    if due_from is not None:
        earlier = earlier.where(StepTable.deploy_at >= due_from)
    for step in session.scalars(earlier.with_for_update()).all():
        why = StepCause(StepCauseKind.OTHER_SCHEDULE, schedule=schedule_id)
        state = StepState(step.state)
        move_step(session, step.id, expected=state, to=StepState.SUPERSEDED, at=at, by=by, why=why)


def supersede_all(session: Session, schedule_id: str, *, at: datetime, by: str) -> None:
    """Call off every step of a schedule whose steps have not touched the cluster."""
    for step in session.scalars(select(StepTable).where(StepTable.schedule_id == schedule_id)).all():
        why = StepCause(StepCauseKind.LATER_SCHEDULE)
        move_step(session, step.id, expected=StepState(step.state), to=StepState.SUPERSEDED, at=at, by=by, why=why)


def is_called_off(session: Session, schedule_id: str) -> bool:
    """Whether all its steps are superseded; False for a schedule without steps."""
    states = select(StepTable.state).where(StepTable.schedule_id == schedule_id)
    return set(session.scalars(states)) == {StepState.SUPERSEDED.value}


def step_row(session: Session, step_id: str) -> StepTable:
    row = session.get(StepTable, step_id)
    if row is None:
        raise LedgerError(f"the ledger has no step {step_id}; list the topology's steps for its id")
    return row


def _change(session: Session, step_id: str, expected: StepState, changes: dict[str, object]) -> None:
    statement = update(StepTable).where(StepTable.id == step_id, StepTable.state == expected.value).values(changes)
    # Execute on the connection for the row count, and expire the session's mapped rows, which are outdated now.
    found = session.connection().execute(statement).rowcount
    session.expire_all()
    if found == 1:
        return
    row = step_row(session, step_id)
    # Of a cause the kind: pages and commands have words for the rest.
    told = ": ".join(filter(None, [row.updated_by, row.reason or row.cause.get("kind")]))
    raise LedgerError(
        f"step {step_id} is {row.state} since {row.updated_at:%Y-%m-%d %H:%M:%S} UTC ({told}), "
        f"not {expected!s} as expected; read it again and decide again"
    )


def _write_down(
    session: Session,
    step_id: str,
    before: StepState | None,
    after: StepState,
    at: datetime,
    by: str,
    why: Why,
    approval: Approval | None = None,
) -> None:
    states = {"from_state": None if before is None else before.value, "to_state": after.value}
    how = "" if approval is None else approval.value
    told = because(why)
    told["why"] = told.pop("reason")
    session.add(StepEventTable(step_id=step_id, **states, at=at, by=by, approval=how, **told))
