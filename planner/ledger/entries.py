"""What the ledger gives back: its rows as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.step_state import StepState
from planner.ledger.tables import Base, ForecastTable, OutcomeTable, ScheduleTable, StepEventTable, StepTable
from planner.scaling_schedule import ScalingSchedule
from planner.schedule_json import numbers_from_json, plan_from_json, schedule_from_json


@dataclass(frozen=True)
class ForecastEntry:
    """Where a forecast is kept. id: the tracking run's, or any that is unique. folder: its files.

    history_digest: of what it saw; history_snapshot: the commit of the history where that can be read again, empty
    for forecasts of before this was kept.
    """

    id: str
    topology: str
    source: str
    issued_at: datetime
    horizon_end: datetime
    run_id: str
    model_version: str
    folder: str
    history_digest: str
    history_snapshot: str = ""


@dataclass(frozen=True)
class ScheduleEntry:
    """A recorded schedule. forecasts: ids of what it rests on; report: path of its report, empty until there is one."""

    id: str
    schedule: ScalingSchedule
    forecasts: tuple[str, ...]
    report: str


@dataclass(frozen=True)
class StepEntry:
    """One step and where it stands. schedule_id is None for a step that a person made.

    reason: why it is in its state. attempt: how often its deployment was begun.
    """

    id: str
    schedule_id: str | None
    position: int
    topology: str
    deploy_at: datetime
    expires_at: datetime
    plan: PhysicalPlan
    replaces: PhysicalPlan
    state: StepState
    reason: str
    updated_at: datetime
    updated_by: str
    attempt: int


@dataclass(frozen=True)
class StepEvent:
    """One transition. from_state is None where the step was made."""

    step_id: str
    from_state: StepState | None
    to_state: StepState
    at: datetime
    by: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """What became of a step: what the model had said, and what was measured, by the same names."""

    step_id: str
    verified_at: datetime | None
    downtime_s: float | None
    predicted: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    violation_minutes: int | None = None


@dataclass(frozen=True)
class BlacklistEntry:
    """An action that did not help under a diagnosis, and is not to be tried again before `until`."""

    topology: str
    action: str
    until: datetime
    why: str


def forecast_entry(row: ForecastTable) -> ForecastEntry:
    return ForecastEntry(**_columns(ForecastEntry, row))


def schedule_entry(row: ScheduleTable, forecasts: tuple[str, ...]) -> ScheduleEntry:
    return ScheduleEntry(row.id, schedule_from_json(row.body), forecasts, row.report)


def step_entry(row: StepTable) -> StepEntry:
    plans = {"plan": plan_from_json(row.plan), "replaces": plan_from_json(row.replaces)}
    return StepEntry(**_columns(StepEntry, row) | plans | {"state": StepState(row.state)})


def step_event(row: StepEventTable) -> StepEvent:
    before = None if row.from_state is None else StepState(row.from_state)
    return StepEvent(row.step_id, before, StepState(row.to_state), row.at, row.by, row.why)


def outcome(row: OutcomeTable) -> Outcome:
    told = {"predicted": numbers_from_json(row.predicted), "measured": numbers_from_json(row.measured)}
    return Outcome(**_columns(Outcome, row) | told)


def _columns(kind: type, row: Base) -> dict[str, Any]:
    """What the row has under the names of the fields."""
    return {each.name: getattr(row, each.name) for each in fields(kind)}
