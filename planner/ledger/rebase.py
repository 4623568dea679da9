"""Adjusts planned steps when the guard has deployed another plan than the one they were to replace.

Otherwise compare-and-set would refuse them, and a planned peak would meet too few instances.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from sqlalchemy import select
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.entries import StepEntry, step_entry
from planner.ledger.step_state import WAITING, Moved, StepState
from planner.ledger.tables import StepTable
from planner.ledger.transitions import assume, move_step
from planner.step_cause import StepCause, StepCauseKind


def rebase_steps(
    session: Session, before: PhysicalPlan, after: PhysicalPlan, max_instances: int, *, at: datetime, by: str
) -> None:
    """Let the topology's waiting steps follow on `after` if they followed on `before`. Idempotent.

    None is called off, except one whose plan runs by now. One that raises an operator keeps what the guard added
    elsewhere, within max_instances. One that takes back what the guard added stays and is marked so: when it is due, it
    waits while the load needs that (planner/withheld_steps.py).
    """
    waiting = select(StepTable).where(
        StepTable.topology == before.topology,
        StepTable.schedule_id.is_not(None),
        StepTable.state.in_([state.value for state in WAITING]),
    )
    rows = session.scalars(waiting.order_by(StepTable.schedule_id, StepTable.deploy_at, StepTable.position))
    steps = [step_entry(row) for row in rows]
    for _, of_schedule in groupby(steps, key=lambda step: step.schedule_id):
        _rebase(session, list(of_schedule), before, after, max_instances, at, by)


def _rebase(
    session: Session,
    steps: Sequence[StepEntry],
    before: PhysicalPlan,
    after: PhysicalPlan,
    max_instances: int,
    at: datetime,
    by: str,
) -> None:
    assumed, runs, adds = before, after, _raises(after, before)
    for step in steps:
        if not step.replaces.same_parallelism(assumed):
            return
        assumed = step.plan
        if runs is after and step.plan.same_parallelism(after):
            put = StepCause(StepCauseKind.GUARD_PLAN, plan=dict(after.parallelism), before=dict(before.parallelism))
            move_step(session, step.id, expected=step.state, to=StepState.SUPERSEDED, at=at, by=by, why=put)
            continue
        plan = step.plan
        if adds and _raises(plan, after):
            plan, adds = _with_more(plan, after, max_instances), False
        if not (runs.same_parallelism(step.replaces) and plan.same_parallelism(step.plan)):
            against = runs is after and _takes_back(plan, before, after)
            moved = Moved.AGAINST_GUARD if against else Moved.BY_GUARD
            why = step.why
            assume(session, step.id, expected=step.state, plan=plan, replaces=runs, at=at, by=by, why=why, moved=moved)
        runs = plan


def _takes_back(plan: PhysicalPlan, before: PhysicalPlan, after: PhysicalPlan) -> bool:
    """Whether a plan has fewer instances of an operator that the guard has raised."""
    return any(
        count > before.parallelism[name] and plan.parallelism[name] < count for name, count in after.parallelism.items()
    )


def _raises(plan: PhysicalPlan, other: PhysicalPlan) -> bool:
    return any(count > other.parallelism[name] for name, count in plan.parallelism.items())


def _with_more(plan: PhysicalPlan, other: PhysicalPlan, max_instances: int) -> PhysicalPlan:
    """The larger count of each operator; the plan unchanged if that exceeds max_instances or if it has a packing."""
    both = {name: max(count, other.parallelism[name]) for name, count in plan.parallelism.items()}
    if plan.packing or sum(both.values()) > max_instances:
        return plan
    return PhysicalPlan(plan.topology, both)
