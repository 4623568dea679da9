"""Every dataclass that is stored comes back as it went in, with all of its fields.

An example of each holds something in every field, of itself and of all dataclasses in it: a field that is added is
missed by `test_an_example__…` until the example has it, and by `test_a_stored_value__…` until its file has it.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forecasting.calibration import Calibration
from forecasting.deployed import DeployedForecaster
from forecasting.events.effects import EventEffects, KnownEffect
from forecasting.events.event_aware_forecaster import EventAware
from forecasting.forecast import BacktestScore, Forecast
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.models.borrowed_forecaster import BorrowedShape, SiblingShape
from forecasting.models.first_days_forecaster import FirstDays
from forecasting.models.harmonic_arima_forecaster import ArmaMemory
from forecasting.models.naive_paths import NaivePaths
from forecasting.models.open_hours import OpenHours
from forecasting.models.persistence_forecaster import LastMean
from forecasting.models.residual_correction import CorrectedForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonAgo
from forecasting.models.slow_level import GridLevel, WeeklyLevel
from forecasting.models.transform import Transform
from forecasting.selection import Ensemble
from forecasting.siblings import LentShape
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained
from forecasting.trained_file import read_trained, write_trained
from forescale.files.profile import read_profile_file, write_profile_file
from forescale.files.samples import read_sample_file
from forescale.tracking.calibration_files import read_calibration, write_calibration
from modeling.calibration.operator_sample import OperatorSample, TaskBeside
from modeling.excuse import Excuse
from modeling.inputs.calls import Calls
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import Feature, OperatorProfile
from modeling.inputs.pauses import Pauses
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.queueing.service_shape import ServiceShape
from planner import guard_facts
from planner.clusters.simulator_state import Mark, Minute, OpenMinute, RequestedChange, SimulatorState, Totals
from planner.clusters.simulator_store import SimulatorStore
from planner.decision_basis import (
    ArrivalFacts,
    BoundedSpan,
    BudgetFacts,
    CalibrationFacts,
    Cause,
    CauseKind,
    DecisionBasis,
    DriftFacts,
    HiddenBurst,
    LearnedFacts,
    LearnedNumber,
    PriceFacts,
    Rung,
    WarmUpFacts,
)
from planner.edit_facts import Edit, ExpectedValues, LimitKind, LimitPassed
from planner.guard.actions import Action
from planner.guard.judgement import Verdict, VerdictKind
from planner.guard.look import Look, OperatorLook, Waiting
from planner.guard_facts import (
    ActionKind,
    Diagnosis,
    DiagnosisKind,
    GuardState,
    Need,
    Reason,
    ReasonKind,
    Scaling,
    Symptom,
    SymptomKind,
)
from planner.ledger.entries import ForecastEntry, GuardAction, Observation, Outcome, ScheduleEntry, ShadowDay, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import Maker, Moved, StepState
from planner.near_rescale import KeptBy, NearRescale
from planner.pricing.instance_cost import InstanceCost
from planner.provenance import Ground, Origin, Provenance, Quantity
from planner.replay.run import Taken
from planner.replay.timeline import Timeline, Track, read_timeline, write_timeline
from planner.scaling_schedule import Alternative, AlternativeKind, Disruption, ScalingSchedule, ScheduledStep
from planner.schedule_json import plan_from_json, plan_to_json, schedule_from_json, schedule_to_json
from planner.step_cause import REVIEW_CAUSE, STEP_CAUSE, ReviewCause, ReviewCauseKind, StepCause, StepCauseKind

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=3)

TOPOLOGY = Topology(
    "words",
    (Operator("lines", 4, 3), Operator("split", 8)),
    (Stream("lines", "split", Grouping.CUSTOM, "left", (0.25, 0.75)),),
    Engine.HERON,
)
PACKED = PhysicalPlan(
    "words",
    {"lines": 1, "split": 2},
    (
        Container(1, (Instance("lines", 0), Instance("split", 1)), "node-a"),
        Container(2, (Instance("split", 0),), "node-b"),
    ),
)
BEFORE = PhysicalPlan("words", {"lines": 1, "split": 1})
NEAR = NearRescale(
    "words", NOON, 8, "calls", 16, 20.0, 300.0, KeptBy.FREEZE, NOON, LATER, "the quota", 36,
)  # fmt: skip
STEP = ScheduledStep(
    NOON, NOON + timedelta(minutes=2), LATER, LATER + timedelta(hours=1), PACKED, BEFORE, {"lines": 12.5}, "split",
    0.75, 1.25, 25.0, 40.0, 6.0, "the peak", 4.5, Disruption(1, 2, 3, 16, 0.5, 2),
    price_per_hour=1.5, more_per_hour=0.5, capacity_per_s=15.0, capacity_before_per_s=7.5, saved_h=2.5, busy_before=0.9,
    busy_most=0.85, moved=NEAR,
)  # fmt: skip
BASIS = DecisionBasis(
    Rung.PROFILE,
    (
        Cause(CauseKind.OTHER_GRID, "lines", 900.0, 300.0, "max_late", NOON, "words", LATER, "why"),
    ),
    ("f1",), ("h1",), ("profile-1",), "ab12", True, True, "cd34", "ef56", {"b.json": "0123"}, "f0", "c1",
    CalibrationFacts("words/3", "no answer", ("split",),
                     (DriftFacts("split", "service_s", 0.1, 0.2, 0.01, (6.0, 8.0)),),
                     ("lines",), "away", "as before", NOON),
    (ArrivalFacts("lines", 2.0, 5.0, 0.1, True, 60, 60.0, "too short", HiddenBurst(1.4, 20.0, 300), 1800.0),),
    LearnedFacts(
        LearnedNumber(25.0, 60.0, 3, 3),
        LearnedNumber(300.0, 300.0, 1, 1),
        2.0,
        True,
        WarmUpFacts(0.4, 90.0, 120.0, 3, 4),
    ),
    PriceFacts(0.2, "site.yaml", "flink_slots", ("split",)),
    BudgetFacts(725.0, 5.0, 3.5, 0.5, True),
    "too short a history",
    Edit(
        "anna", "a fair", "s0", 1, NOON, {"split": 2},
        (LimitPassed(LimitKind.MAX_STEP, 5.0, 3.0, "split", {"split": 2}, {"split": 7}, NOON, LATER),),
        (LimitPassed(LimitKind.MAX_STEP, 5.0, 3.0, "split", {"split": 2}, {"split": 7}, NOON),),
        ExpectedValues(48.0, 3.0, 0.1, 9.5),
        ExpectedValues(50.0, 2.0, 0.1, 9.9),
    ),
    {"arrivals": "as an earlier release said"},
    (
        Ground(Quantity.SERVICE_TIME, Provenance(Origin.MEASURED, "calibration", NOON, 6, (0.5, 2.0)), ("split",)),
    ),
    (BoundedSpan(1.5, 2.5, {"split": 2}, {"split": 9}),),
)  # fmt: skip

SCHEDULE = ScalingSchedule(
    "words", NOON, NOON, NOON + timedelta(days=1), 0.95, BEFORE, (STEP,), 72.0, "the load comes", 3.5, 0.25, 7.2, 1.5,
    (Alternative("hold", 48.0, 2, 60.0, "too late", 24.0, AlternativeKind.HOLD, {"split": 2}, 1.5, 2.5, (NOON,), 5),),
    (Excuse(BEFORE, "utilisation", "split", 1.07, 0.8, "beyond it", "raise it", {"split": 2}),),
    BASIS, price=36.0, instance_price_per_hour=0.5, review_s=1800.0, own_minutes=3.0, crowded=(NEAR,),
)  # fmt: skip

KEYS = KeyHistogram({"a": 0.5, "b": 0.125}, {"a": 97, "b": 98}, 40, KeyType.STRING, measured_at=4)
PROFILE = OperatorProfile(
    "split", 0.004, {"split->count": 5.0}, 0.0001, 1.5, KEYS, 12, {"lines->split": KEYS}, {"lines->split": 0.003},
    {"split->count": {"lines->split": 4.0}},
    {
        "split->count": WindowedOutput(WindowKind.SLIDING, 60.0, 40, 10.0, KEYS),
    },
    (1.25, 1.75), {"split->count": 0.01}, ScaleEfficiency(0.9, 0.001, 2, 0.01, 0.0001), 0.002, 0.0002, 300.0, 0.5, 2.0,
    False, 0.03, {"service_s": (0.0035, 0.0045)}, Polling(0.5, 100), {"split->count": 0.75},
    ServiceShape((0.001, 0.01), (0.75, 0.25)), Calls(4, 0.02, 2.0), 0.01, 0.001, 0.05, 0.004,
    0.02, 0.03, (Feature.STATE_ON_DISK,), Pauses(10.0, 0.5),
)  # fmt: skip
CHAIN = Topology(
    "words",
    (Operator("lines"), Operator("split"), Operator("count")),
    (Stream("lines", "split"), Stream("split", "count")),
)
SAMPLE = OperatorSample(
    "split", 1, 60.0, 30.0, 5.0, 1000.0, {"split->count": 5000.0}, 1e9, 600.0, {"lines->split": 1000.0},
    {"lines->split": 30.0}, 0.002, 2, 25.0, 512.0, 0.5, 0.25, 4,
    "tm-1", 40.0, 2.0, 900.0, 12.0, (Feature.UNALIGNED_CHECKPOINTS,),
    (TaskBeside("job vertex", 2, 6.0, 1.0, 70.0),),
)  # fmt: skip

SCORE = BacktestScore("ridge", 3600, 1.5, 0.5, 0.9375, 36, True, "it wins")
FORECAST = Forecast(
    NOON, "words", "lines", NOON, 300, (0.5, 0.95), np.array([[1.0, 2.0], [3.0, 4.0]]), {600: np.array([3.0, 4.0])},
    np.array([[1.0, 3.0], [2.0, 4.0], [1.5, 3.5]]), {600: "ridge"}, NOON - timedelta(days=56), NOON, "d1", 7, (SCORE,),
    "r1", "words/3", "c1", ("a gap",), ("a borrowed shape",),
)  # fmt: skip
CORRECTED = CorrectedForecaster(
    3600, GridLevel(NOON, 3600, np.linspace(1.0, 2.0, 168)), Transform("sqrt"),
    OpenHours(3600, np.arange(168) % 24 < 6), np.full(24, 0.5), np.linspace(-1.0, 1.0, 168), NOON,
    np.full((2, 3), 0.25), 99.0, ArmaMemory(0.5, 0.25, -0.125),
)  # fmt: skip
WEEKLY = CorrectedForecaster(
    3600, WeeklyLevel(3600, np.linspace(1.0, 2.0, 168)), Transform("log"), CORRECTED.hours, CORRECTED.usual_size,
    CORRECTED.errors, NOON, CORRECTED.weights, 98.0, ArmaMemory(0.125, 0.0625, 0.5), 84,
)  # fmt: skip
EVENTS = EventEffects((KnownEffect(NOON, LATER, 1.5),), ((NOON, LATER),))
TRAINED = Trained(
    "words", "lines", ForecastTerms(600, 7200, (3600, 7200), 100, 12, 3, prophet=True),
    DeployedForecaster(
        3600, 24, (3600, 7200), (0.5, 0.95),
        Ensemble(
            ({"ridge": 0.75, "mean": 0.25}, {"season": 1.0}), ("mean", "season"), (True, False),
            Calibration(np.array([[0.5, 0.25], [0.125, 0.0625]]), 0.125, (0.5, 0.95)),
        ),
        {
            "ridge": EventAware(CORRECTED, EVENTS), "weekly": WEEKLY,
            "mean": NaivePaths(3600, LastMean(2), 2), "season": NaivePaths(3600, SeasonAgo(168), 168, 504),
            "days": FirstDays(3600, np.array([0.75, 0.25])),
            "borrowed": BorrowedShape(3600, (SiblingShape(WEEKLY, CORRECTED.hours),)),
        },
    ),
    (SCORE,), ("a gap",), NOON - timedelta(days=56), NOON, "d1", "c1", "words/3",
    (LentShape("letters", "pages", "Asia/Tokyo", ((NOON, LATER),), "s1", "d2", 0.75, True),),
    ("a borrowed shape",),
)  # fmt: skip

LOOK = Look(
    NOON, 60.0, {"split": OperatorLook((0.5,), (0.25,), (10.0,), {"split->count": 50.0})},
    Waiting({"lines": 10.0}, {"lines": 60.0}, 6.0, {"clicks": "silent"}, NOON),
)  # fmt: skip
TOTALS = Totals((1.0, 2.0), (0.5, 0.25), (0.75, 0.125))
STATE = SimulatorState(
    100.0, 40.0, 2, {"split": 3}, {"split": 2}, 60.0, 85.0, (7.0,), TOTALS,
    OpenMinute((1.0,), (2.0,), (3.0,), 4.0, 5.0, 6.0, (7.0,)), RequestedChange({"split": 4}, 130.0), (9.0,),
    (Mark(90.0, (8.0,)),),
)  # fmt: skip
MINUTE = Minute(
    60.0, {"lines": 1.0}, {"lines": 2.0}, {"lines": 3.0}, 4.0, {"split": 5.0}, {"split": 3}, 6.0, True, 2, TOTALS,
    {"split": 7.0},
)  # fmt: skip

TIMELINE = Timeline(
    "words", 60.0,
    (
        Track(
            "planner", 3, np.array([60.0, 120.0]), np.array([1.0, 2.0]), np.array([0, 1]),
            ({"split": 2}, {"split": 3}), np.array([2, 3]), np.array([5.0, 7.5]), np.array([0.5, 0.0]),
            np.array([1.0, 61.0]), np.array([0.0, 25.0]), np.array([0.25, 0.5]), np.array([False, True]),
            (Taken(60.0, 120.0, {"split": 3}, "the peak"),),
        ),
    ),
    ("a gap",), {"split": InstanceCost(0.5, 512.0, 64.0, 0.25)}, 0.005,
)  # fmt: skip

FORECAST_ENTRY = ForecastEntry("f1", "words", "lines", NOON, LATER, "r1", "words/3", "/f", "d1", "c1")
OBSERVATION = Observation("words", NOON, PACKED, "running", {"lines": 5.0}, 1.5, "clicks: silent")
DAY = ShadowDay(
    "words", date(2026, 3, 1), NOON, 60.0, 1440, 1400, 48.0, 3, 2, 50.0, 49.0, 5, 4, 7, 6, 8.0, ("a gap", "a crash")
)
CAUSE = Diagnosis(
    DiagnosisKind.UNDER_PROVISIONED, "split",
    (Symptom(SymptomKind.RATE_SKEW, "split", math.inf, 1.5, 1, 8.0, 0.5, 9.0),), 1,
)  # fmt: skip
WHY = StepCause(
    StepCauseKind.ASKED_FOR, "calls-1", "calls", "anna", NOON, LATER, {"split": 2}, {"split": 1}, {"split": 3}, 8, True,
    25.0, "superseded", "scale-up", "data-skew",
    (LimitPassed(LimitKind.MAX_STEP, 5.0, 3.0, "split", {"split": 2}, {"split": 7}, NOON, LATER),),
    (ReviewCause(ReviewCauseKind.CALLS_OFF, 8.0, 5.0, 16.0, "calls-1", "anna"),), "a fair", "away",
)  # fmt: skip
REASON = Reason(
    ReasonKind.SCALES, CAUSE, ActionKind.SCALE_UP, "split", 1.0, 2.0,
    Scaling({"split": 1}, {"split": 2}, 8.0, True, {"split": 1}, 4.0, 5.0), {"a": 0.5}, {"split": 3}, "s1", "due",
    NOON, "node down", Need(8.0, 5.0, 9.0, 4.0), WHY,
)  # fmt: skip
HELPED = Reason(ReasonKind.TAKES_MORE, CAUSE, observed=9.0, bound=3.0)
ACTION = Action(
    CAUSE, ActionKind.SCALE_UP, {"lines": 1, "split": 2}, REASON, {"lag_s": 90.0}, {"lag_s": 10.0},
)  # fmt: skip


def _json(to: Callable[[Any], Mapping[str, Any]], of: Callable[[Mapping[str, Any]], Any]) -> Callable[..., Any]:
    return lambda value, _: of(json.loads(json.dumps(to(value))))


def _ledger(folder: Path) -> Ledger:
    return Ledger(f"sqlite:///{folder / 'ledger.db'}")


def _profile(profile: OperatorProfile, folder: Path) -> OperatorProfile:
    write_profile_file(folder / "p.json", "words", {profile.operator: profile}, "2026-03-02")
    return read_profile_file(folder / "p.json")[profile.operator]


def _topology(topology: Topology, folder: Path) -> Topology:
    write_calibration(folder, topology, {}, "2026-03-02")
    return read_calibration(folder)[0]


def _sample(sample: OperatorSample, folder: Path) -> OperatorSample:
    (folder / "s.json").write_text(json.dumps({"topology": CHAIN.name, "samples": [asdict(sample)]}))
    return read_sample_file(folder / "s.json", CHAIN)[0]


def _forecast(forecast: Forecast, folder: Path) -> Forecast:
    write_forecast(forecast, folder / "f")
    return read_forecast(folder / "f")


def _trained(trained: Trained, folder: Path) -> Trained:
    write_trained(trained, folder / "t")
    return read_trained(folder / "t")


def _timeline(timeline: Timeline, folder: Path) -> Timeline:
    write_timeline(timeline, folder / "t.parquet")
    return read_timeline(folder / "t.parquet")


def _look(look: Look, folder: Path) -> Look:
    guard = _ledger(folder).guard
    guard.record_look("words", look, forget_before=NOON - timedelta(hours=1))
    return guard.looks("words")[0]


def _state(state: SimulatorState, folder: Path) -> SimulatorState:
    with SimulatorStore(folder / "s.db").transaction() as transaction:
        transaction.save({}, state, [])
    with SimulatorStore(folder / "s.db").transaction() as transaction:
        kept = transaction.load()
    assert kept is not None
    return kept[1]


def _minute(minute: Minute, folder: Path) -> Minute:
    with SimulatorStore(folder / "s.db").transaction() as transaction:
        transaction.save({}, STATE, [minute])
        return transaction.minutes(0.0, 1e9)[0]


def _forecast_entry(entry: ForecastEntry, folder: Path) -> ForecastEntry:
    _ledger(folder).record_forecast(entry)
    return _ledger(folder).forecasts("words")[0]


def _observation(observation: Observation, folder: Path) -> Observation:
    _ledger(folder).shadow.record_observations("words", [observation])
    return _ledger(folder).shadow.observations("words", NOON, NOON)[0]


def _day(day: ShadowDay, folder: Path) -> ShadowDay:
    _ledger(folder).shadow.record_day(day)
    return _ledger(folder).shadow.days("words")[0]


@dataclass(frozen=True)
class _Recorded:
    """What the ledger makes of a schedule, and of what became of its step."""

    made: ScheduleEntry
    step: StepEntry
    outcome: Outcome


ASKED = ReviewCause(ReviewCauseKind.CALLS_OFF, 8.0, 5.0, 16.0, "calls-1", "anna")
RECORDED = _Recorded(
    ScheduleEntry("", SCHEDULE, ("f1",), "/r.html", True, "hand-1"),
    StepEntry(
        "",
        "",
        1,
        "words",
        NOON,
        STEP.needed_until,
        PACKED,
        BEFORE,
        StepState.SHADOW,
        "the peak",
        NOON,
        "me",
        0,
        Maker.GUARD,
        Moved.BY_GUARD,
        "it is large",
        True,
        REASON,
        ASKED,
        WHY,
    ),
    Outcome("", NOON, 25.0, {"downtime_s": 30.0}, {"downtime_s": 25.0}, 3),
)


def _recorded(expected: _Recorded, folder: Path) -> _Recorded:
    ledger = _ledger(folder)
    ledger.record_forecast(FORECAST_ENTRY)
    made_id = ledger.record_schedule(
        expected.made.schedule, forecasts=expected.made.forecasts, report=expected.made.report, by="me", shadow=True
    )
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:  # what other ways of a step leave behind
        connection.execute("UPDATE schedules SET replaced_by = 'hand-1'")
        connection.execute(
            "UPDATE steps SET made_by = 'guard', moved = 'by guard', asked_because = 'it is large', never_asked = 1, "
            "withheld = ?, review_cause = ?, cause = ?",
            (
                json.dumps(guard_facts.REASON.to_json(REASON)),
                json.dumps(REVIEW_CAUSE.to_json(ASKED)),
                json.dumps(STEP_CAUSE.to_json(WHY)),
            ),
        )
        connection.commit()
    (step,) = ledger.steps(schedule_id=made_id)
    ledger.record_outcome(Outcome(**vars(expected.outcome) | {"step_id": step.id}))
    outcome = ledger.outcome(step.id)
    assert outcome is not None
    assert step.schedule_id == made_id
    # Ids are digests: what they are is not of the values.
    made = ScheduleEntry(**vars(ledger.schedule(made_id)) | {"id": ""})
    step = StepEntry(**vars(step) | {"id": "", "schedule_id": ""})
    return _Recorded(made, step, Outcome(**vars(outcome) | {"step_id": ""}))


JUDGED = GuardAction(
    "", "words", NOON, "under-provisioned", "scale-up", "split", REASON, "", {"lines": 1, "split": 2},
    {"lag_s": 90.0}, {"lag_s": 10.0}, GuardState.EFFECTIVE, LATER, HELPED, {"lag_s": 9.0},
)  # fmt: skip


def _judged(_: GuardAction, folder: Path) -> GuardAction:
    guard = _ledger(folder).guard
    begun = guard.begin(ACTION, PACKED, BEFORE, at=NOON, expires_at=LATER)
    guard.judge(begun.id, Verdict(VerdictKind.EFFECTIVE, HELPED, {"lag_s": 9.0}), at=LATER, blacklist_after=3)
    return GuardAction(**vars(guard.action(begun.id)) | {"id": "", "step_id": ""})


STORED: Mapping[str, tuple[object, Callable[[Any, Path], object]]] = {
    "plan": (PACKED, _json(plan_to_json, plan_from_json)),
    "schedule": (SCHEDULE, _json(schedule_to_json, schedule_from_json)),
    "profile": (PROFILE, _profile),
    "topology": (TOPOLOGY, _topology),
    "sample": (SAMPLE, _sample),
    "forecast": (FORECAST, _forecast),
    "trained": (TRAINED, _trained),
    "timeline": (TIMELINE, _timeline),
    "look": (LOOK, _look),
    "simulator": (STATE, _state),
    "minute": (MINUTE, _minute),
    "forecast entry": (FORECAST_ENTRY, _forecast_entry),
    "observation": (OBSERVATION, _observation),
    "shadow day": (DAY, _day),
    "schedule, step and outcome": (RECORDED, _recorded),
    "guard action": (JUDGED, _judged),
}


@pytest.mark.parametrize("what", STORED)
def test_a_stored_value__comes_back_with_all_its_fields(what: str, tmp_path: Path) -> None:
    value, round_trip = STORED[what]
    assert list(_differences(value, round_trip(value, tmp_path), what)) == []


@pytest.mark.parametrize("what", STORED)
def test_an_example__holds_something_in_every_field(what: str) -> None:
    empty: dict[type, set[str]] = {}
    _note_empty(STORED[what][0], empty)
    assert {kind.__name__: left for kind, left in empty.items() if left} == {}


def _note_empty(value: object, empty: dict[type, set[str]]) -> None:
    """Strike out, for each kind of dataclass in the value, the fields that hold something in one of them."""
    if is_dataclass(value) and not isinstance(value, type):
        left = empty.setdefault(type(value), {field.name for field in fields(value)})
        for field in fields(value):
            held = getattr(value, field.name)
            if not _is_empty(held, field):
                left.discard(field.name)
            _note_empty(held, empty)
    elif isinstance(value, Mapping):
        for each in value.values():
            _note_empty(each, empty)
    elif isinstance(value, tuple | list):
        for each in value:
            _note_empty(each, empty)


def _is_empty(value: object, field: Field[Any]) -> bool:
    """Whether it is what a reader would make of a field that was not written."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return value == default or value in ((), {}, None)


def _differences(one: Any, other: Any, at: str) -> Iterator[str]:
    if is_dataclass(one):
        if type(one) is not type(other):
            yield f"{at}: {type(other).__name__} for {type(one).__name__}"
            return
        for field in fields(one):
            yield from _differences(getattr(one, field.name), getattr(other, field.name), f"{at}.{field.name}")
    elif isinstance(one, Mapping):
        if one.keys() != other.keys():
            yield f"{at}: keys {list(other)} for {list(one)}"
            return
        for key in one:
            yield from _differences(one[key], other[key], f"{at}[{key!r}]")
    elif isinstance(one, tuple | list):
        if len(one) != len(other):
            yield f"{at}: {len(other)} for {len(one)}"
            return
        for number, (each, its) in enumerate(zip(one, other, strict=True)):
            yield from _differences(each, its, f"{at}[{number}]")
    elif not np.array_equal(one, other):
        yield f"{at}: {other!r} for {one!r}"
