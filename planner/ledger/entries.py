"""The ledger's rows as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Any

from modeling.inputs.physical_plan import PhysicalPlan
from planner.guard_facts import REASON, GuardState, Reason
from planner.ledger.step_state import Approval, Maker, Moved, StepState
from planner.ledger.stored_rows import reading_row
from planner.ledger.tables import (
    Base,
    ForecastTable,
    GuardActionTable,
    GuardBlacklistTable,
    ObservationTable,
    OutcomeTable,
    ScheduleTable,
    ShadowDayTable,
    StepEventTable,
    StepTable,
)
from planner.scaling_schedule import ScalingSchedule
from planner.schedule_json import numbers_from_json, plan_from_json, schedule_from_json
from planner.step_cause import REVIEW_CAUSE, STEP_CAUSE, ReviewCause, StepCause, Why


@dataclass(frozen=True)
class ForecastEntry:
    """Where a forecast is stored. id: of the tracking run, or any unique one. folder: its files.

    history_digest: of the history it was made from; history_snapshot: the commit of that history if it can be read
    again, empty for forecasts older than this field.
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
    """A recorded schedule. forecasts: ids of those it was made from; report: path of its report, empty if there is none
    yet.

    shadow: made in shadow mode, so never deployed. replaced_by: id of a step that a person made and whose plan runs
    instead; empty while the schedule stands.
    """

    id: str
    schedule: ScalingSchedule
    forecasts: tuple[str, ...]
    report: str
    shadow: bool = False
    replaced_by: str = ""


@dataclass(frozen=True)
class StepEntry:
    """One step and its state. schedule_id is None for a step of a person or of the guard.

    reason: why it is in its state, in words of a person or of an earlier release; cause: the same as a fact, None
    beside words. attempt: number of deployments begun. moved: why it replaces another plan than its
    schedule says. asked_because: why a person has to approve it, as earlier releases worded it. never_asked: it was
    rolled back before the cluster was asked. withheld: why it last waited; None if it never did, and for releases that
    kept that in words, as its reason. review_cause: why a person has to approve it; None if no rule was asked.
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
    made_by: Maker = Maker.SCHEDULE
    moved: Moved | None = None
    asked_because: str = ""
    never_asked: bool = False
    withheld: Reason | None = None
    review_cause: ReviewCause | None = None
    cause: StepCause | None = None

    @property
    def why(self) -> Why:
        """Why it is in its state."""
        return self.reason if self.cause is None else self.cause


@dataclass(frozen=True)
class StepEvent:
    """One transition. from_state is None for the first. approval: how, for the move to `approved`. cause, why: as cause
    and reason of a step.
    """

    step_id: str
    from_state: StepState | None
    to_state: StepState
    at: datetime
    by: str
    why: str
    approval: Approval | None = None
    cause: StepCause | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a step: predicted and measured numbers, by the same names.

    downtime_s, catch_up_s, lead_s: seconds; catch_up_at_least_s replaces catch_up_s if a backlog remained at the last
    look. instances_added; state_gib: keyed state of the job. A missing name means unknown.
    """

    step_id: str
    verified_at: datetime | None
    downtime_s: float | None
    predicted: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    violation_minutes: int | None = None


@dataclass(frozen=True)
class GuardAction:
    """What the guard did or advised, and the outcome. diagnosis, action: names of their kinds.

    step_id: of the step that deploys it, None for advice. plan: parallelism, empty if a person must act. before,
    expected, measured: numbers by name: at the decision, predicted, and at the judgement. judgement: why it is in its
    state, None while that is open.
    """

    id: str
    topology: str
    decided_at: datetime
    diagnosis: str
    action: str
    operator: str
    reason: Reason
    step_id: str | None
    plan: Mapping[str, int]
    before: Mapping[str, float]
    expected: Mapping[str, float]
    state: GuardState
    judged_at: datetime | None = None
    judgement: Reason | None = None
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ActionCount:
    """Number of the guard's actions of one kind in one state."""

    diagnosis: str
    action: str
    state: GuardState
    number: int


@dataclass(frozen=True)
class BarredPair:
    """An action that kept failing under a diagnosis; it is not tried again until a person lifts the bar. failures:
    in a row, 0 if unknown; last: why the last one was one.
    """

    topology: str
    diagnosis: str
    action: str
    since: datetime
    failures: int
    last: Reason


@dataclass(frozen=True)
class Observation:
    """What the cluster ran at a moment. status: the cluster's. backlog: waiting tuples, for the sources where known.
    lag_s: the longest wait of a tuple in the minute that ends then or holds the moment; None if not measured, and
    `unmeasured` says why.
    """

    topology: str
    observed_at: datetime
    plan: PhysicalPlan
    status: str
    backlog: Mapping[str, float] = field(default_factory=dict)
    lag_s: float | None = None
    unmeasured: str = ""


@dataclass(frozen=True)
class ShadowDay:
    """A whole UTC day: what ran, and what would have run under the shadow schedules, replayed over the true arrivals.

    observed_minutes: with a known running plan; real_instance_hours and real_rescales cover these. measured_minutes:
    with a known lag; real_violation_minutes are those of them with more lag than max_lag_s. The other fields are the
    shadow's: for the whole day, and for only the observed or measured minutes, which compare like with like. backlog:
    waiting tuples at the end of the day. notes: caveats of the replay.
    """

    topology: str
    day: date
    accrued_at: datetime
    max_lag_s: float
    observed_minutes: int
    measured_minutes: int
    real_instance_hours: float
    real_violation_minutes: int
    real_rescales: int
    instance_hours: float
    instance_hours_observed: float
    violation_minutes: int
    violation_minutes_measured: int
    rescales: int
    rescales_observed: int
    backlog: float
    notes: tuple[str, ...] = ()


def forecast_entry(row: ForecastTable) -> ForecastEntry:
    return ForecastEntry(**_columns(ForecastEntry, row))


def schedule_entry(row: ScheduleTable, forecasts: tuple[str, ...]) -> ScheduleEntry:
    with reading_row(row):
        schedule = schedule_from_json(row.body)
        _check_schedule(row, schedule)
        return ScheduleEntry(row.id, schedule, forecasts, row.report, row.shadow, row.replaced_by or "")


def _check_schedule(row: ScheduleTable, schedule: ScalingSchedule) -> None:
    """Raises ValueError if the body contradicts the columns, or its plans have different operators."""
    for name, value, stored in (
        ("made_at", schedule.made_at, row.made_at),
        ("start", schedule.start, row.start_at),
        ("end", schedule.end, row.end_at),
    ):
        if value != stored:
            raise ValueError(f"its body has {name} {value}, and the column beside it {stored}")
    operators = set(schedule.current.parallelism)
    for step in schedule.steps:
        if differing := operators ^ set(step.plan.parallelism):
            raise ValueError(f"its plans do not all name operator {min(differing)!r}")


def step_entry(row: StepTable) -> StepEntry:
    with reading_row(row):
        plans = {"plan": plan_from_json(row.plan), "replaces": plan_from_json(row.replaces)}
        moved = Moved(row.moved) if row.moved else None
        kinds = {"state": StepState(row.state), "made_by": Maker(row.made_by), "moved": moved}
        waits = {
            "withheld": REASON.from_json(row.withheld) if row.withheld else None,
            "review_cause": REVIEW_CAUSE.from_json(row.review_cause) if row.review_cause else None,
            "cause": _cause(row),
        }
        return StepEntry(**_columns(StepEntry, row) | plans | kinds | waits)


def step_event(row: StepEventTable) -> StepEvent:
    with reading_row(row):
        before = None if row.from_state is None else StepState(row.from_state)
        approval = Approval(row.approval) if row.approval else None
        return StepEvent(row.step_id, before, StepState(row.to_state), row.at, row.by, row.why, approval, _cause(row))


def _cause(row: StepTable | StepEventTable) -> StepCause | None:
    return STEP_CAUSE.from_json(row.cause) if row.cause else None


def outcome(row: OutcomeTable) -> Outcome:
    with reading_row(row):
        numbers = {"predicted": numbers_from_json(row.predicted), "measured": numbers_from_json(row.measured)}
        return Outcome(**_columns(Outcome, row) | numbers)


def observation(row: ObservationTable) -> Observation:
    with reading_row(row):
        parts = {"plan": plan_from_json(row.plan), "backlog": numbers_from_json(row.backlog)}
        return Observation(**_columns(Observation, row) | parts)


def shadow_day(row: ShadowDayTable) -> ShadowDay:
    return ShadowDay(**_columns(ShadowDay, row) | {"notes": tuple(row.notes.splitlines())})


def guard_action(row: GuardActionTable) -> GuardAction:
    with reading_row(row):
        numbers = {name: numbers_from_json(getattr(row, name)) for name in ("before", "expected", "measured")}
        plan = {"plan": plan_from_json({"topology": row.topology, "parallelism": row.plan}).parallelism}
        judgement = REASON.from_json(row.judgement) if row.judgement else None
        reasons = {"reason": REASON.from_json(row.reason), "judgement": judgement}
        return GuardAction(**_columns(GuardAction, row) | numbers | plan | reasons | {"state": GuardState(row.state)})


def barred_pair(row: GuardBlacklistTable) -> BarredPair:
    with reading_row(row):
        return BarredPair(**_columns(BarredPair, row) | {"last": REASON.from_json(row.last)})


def _columns(kind: type, row: Base) -> dict[str, Any]:
    """The row's values for the fields of `kind`."""
    return {each.name: getattr(row, each.name) for each in fields(kind)}
