"""A schedule as rows, one for itself and one per step, and the row of a step without a schedule."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.codec import Json
from planner.errors import LedgerError
from planner.ledger.step_state import Maker, StepState
from planner.ledger.tables import ScheduleTable, StepTable
from planner.scaling_schedule import ScalingSchedule, ScheduledStep
from planner.schedule_json import basis_to_json, plan_to_json, schedule_to_json
from planner.step_cause import Why, because

_WORDS = frozenset({"recorded", "bottleneck", "reason", "remedy"})
"""Fields of a schedule, its steps, alternatives and excuses that say in words what other fields hold."""


@dataclass(frozen=True)
class ScheduleWords:
    """Reasons of a schedule and of each of its steps, for people who read the tables; nothing is decided by them."""

    schedule: str
    steps: tuple[str, ...]

    @classmethod
    def recorded(cls, schedule: ScalingSchedule) -> "ScheduleWords":
        return cls(schedule.recorded, tuple(step.recorded for step in schedule.steps))


def schedule_digest(schedule: ScalingSchedule, *, shadow: bool = False) -> str:
    """Sixteen hex digits that are the same for the same decision, whenever it was made and however it is worded: of its
    plans, times and numbers, the question that it answers, and the edit that it comes from; without the comparison with
    a reactive scaler, which is made after it.
    """
    apart = ("schema_version", "made_at", "basis")
    decided = replace(schedule, alternatives=tuple(each for each in schedule.alternatives if each.was_weighed))
    body: Json = {name: value for name, value in schedule_to_json(decided).items() if name not in apart}
    body = _without_words(body)
    basis, edit = schedule.basis, schedule.basis.edit
    by_whom = None if edit is None else (edit.by, edit.why, edit.in_place_of, edit.step)
    body["basis"] = [basis.rung, basis.question, basis.fleet or "", by_whom]
    if shadow:
        body["shadow"] = True
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_words(each) for name, each in value.items() if name not in _WORDS}
    return [_without_words(each) for each in value] if isinstance(value, list) else value


def schedule_row_of(session: Session, schedule_id: str) -> ScheduleTable:
    """Raises LedgerError for an unknown id."""
    row = session.get(ScheduleTable, schedule_id)
    if row is None:
        raise LedgerError(f"the ledger has no schedule {schedule_id}; list the topology's schedules for its id")
    return row


def is_newest(session: Session, row: ScheduleTable) -> bool:
    """Whether no schedule of the topology that counts was made later."""
    if row.set_aside_at is not None:
        return False
    later = (
        ScheduleTable.topology == row.topology,
        ScheduleTable.made_at > row.made_at,
        ScheduleTable.set_aside_at.is_(None),
    )
    return session.scalars(select(ScheduleTable.id).where(*later).limit(1)).first() is None


def schedule_row(schedule_id: str, schedule: ScalingSchedule, report: str, why: str, *, shadow: bool) -> ScheduleTable:
    return ScheduleTable(
        id=schedule_id,
        topology=schedule.topology,
        made_at=schedule.made_at,
        start_at=schedule.start,
        end_at=schedule.end,
        quantile=schedule.quantile,
        why=why,
        current_plan=plan_to_json(schedule.current),
        body=schedule_to_json(schedule),
        report=report,
        basis=basis_to_json(schedule.basis),
        shadow=shadow,
    )


def step_rows(
    schedule_id: str, schedule: ScalingSchedule, by: str, reasons: Sequence[str], *, shadow: bool
) -> list[StepTable]:
    expiries = _expiries(schedule.steps)
    state = StepState.SHADOW if shadow else StepState.PROPOSED
    return [
        StepTable(
            id=f"{schedule_id}-{position}",
            schedule_id=schedule_id,
            position=position,
            topology=schedule.topology,
            deploy_at=step.deploy_at,
            expires_at=expires_at,
            plan=plan_to_json(step.plan),
            replaces=plan_to_json(step.replaces),
            state=state.value,
            reason=reason,
            updated_at=schedule.made_at,
            updated_by=by,
            attempt=0,
            made_by=Maker.SCHEDULE.value,
        )
        for position, (step, expires_at, reason) in enumerate(zip(schedule.steps, expiries, reasons, strict=True), 1)
    ]


def lone_step_row(
    step_id: str,
    plan: PhysicalPlan,
    replaces: PhysicalPlan,
    made_by: Maker,
    *,
    deploy_at: datetime,
    expires_at: datetime,
    at: datetime,
    by: str,
    why: Why,
) -> StepTable:
    """A step without a schedule, approved by whoever made it."""
    return StepTable(
        id=step_id,
        schedule_id=None,
        position=0,
        topology=plan.topology,
        deploy_at=deploy_at,
        expires_at=expires_at,
        plan=plan_to_json(plan),
        replaces=plan_to_json(replaces),
        state=StepState.APPROVED.value,
        **because(why),
        updated_at=at,
        updated_by=by,
        attempt=0,
        made_by=made_by.value,
    )


def _expiries(steps: Sequence[ScheduledStep]) -> list[datetime]:
    """A step expires when its span of load ends or the next step is due."""
    ends = [step.needed_until for step in steps]
    for position, (step, following) in enumerate(pairwise(steps)):
        if step.deploy_at < following.deploy_at < ends[position]:
            ends[position] = following.deploy_at
    return ends
