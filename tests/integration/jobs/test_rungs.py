"""The planning job without what it usually plans by: a lower rung, with its cause in ledger, report and answer."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forecasting.forecast import QUANTILES, Forecast
from forecasting.forecast_file import write_forecast
from forescale.cli.expected import EXPECTED
from forescale.cli.schedule_answer import schedule_answer
from forescale.files.atomic import write_whole
from forescale.jobs.plan import plan
from forescale.jobs.planning_case import announced_turns
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.jobs.report import report
from forescale.report.kit.decision_words import RUNGS, basis_summary, cause_words
from forescale.settings import Settings
from forescale.situation.known_profiles import drift_path
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, topology_config
from planner.clock import TraceClock
from planner.decision_basis import NOT_CALIBRATED, Cause, CauseKind, DecisionBasis, Rung
from planner.ledger.entries import ForecastEntry

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

NAME = "pair"
NOW = datetime(2026, 3, 16, 6, tzinfo=UTC)
"""A Monday."""
DAYS = 15
TOPOLOGY = """
topology: pair
operators:
  left: {service_s: 0.0001}
  right: {service_s: 0.0001}
  count: {service_s: 0.1}
streams:
  - {from: left, to: count}
  - {from: right, to: count}
arrivals: {kind: kafka, servers: "127.0.0.1:1", topics: {left: a, right: b}}
forecast: {step_s: 900, paths: 100}
planning: {mode: MODE, lead_s: 0, rescale_cost_instance_hours: 0.1, guard: {mode: GUARD}}
cluster: {kind: simulator, truth: truth, slots: 64, parallelism: {left: 1, right: 1, count: 4}}
"""
SOURCES = ("left", "right")


def rate_per_s(at: datetime) -> float:
    """Of each source: 2 instances of count carry both by night, more than 12 are needed by day."""
    return 60.0 if 8 <= at.hour < 20 else 8.0


def install(
    folder: Path, *, guard: str = "advise", mode: str = "act", missing: float = 0.0, days: float = DAYS
) -> Settings:
    """missing: share of the history's windows, evenly over each hour. days: 0 for no history at all."""
    folder.mkdir(parents=True)
    (folder / f"{NAME}.yaml").write_text(TOPOLOGY.replace("GUARD", guard).replace("MODE", mode))
    # One database of MLflow for all tests: making it takes longer than planning.
    made = Settings(home=folder / "home", topologies=folder, mlruns=folder.parents[1] / "mlruns", clock="trace")
    TraceClock(made.clock_file).start_at(NOW)
    write_arrivals(made.home / "truth", 2, timedelta(days=1), 0.0)
    if days:
        write_arrivals(made.history_dir, days, timedelta(), missing)
    return made


def write_arrivals(folder: Path, days: float, beyond: timedelta, missing: float) -> None:
    start, end = NOW - timedelta(days=days), NOW + beyond
    minutes = int((end - start).total_seconds()) // 60
    at_us = int(start.timestamp()) * 1_000_000
    rates = [rate_per_s(start + timedelta(minutes=minute)) for minute in range(minutes)]
    counts = np.random.default_rng(5).poisson(60 * np.array(rates)).astype(np.int64)
    hour_us = 3600 * 1_000_000
    alive = int((1 - missing) * hour_us)
    edges = np.array([[at_us + h * hour_us, at_us + h * hour_us + alive] for h in range(-(-minutes // 60))])
    source = SourceArrivals(counts, edges if missing else np.array([[0, 2**62]]))
    write_history(Arrivals(start, end, 60, Measures.OFFERED, dict.fromkeys(SOURCES, source)), folder, NAME, start, end)


def forecast(made: Settings, source: str, age: timedelta = timedelta(), *, hours: int = 24) -> Path:
    """Keep one that was issued so long ago and knew what comes."""
    issued = NOW - age
    mean = np.array([rate_per_s(issued + timedelta(minutes=15 * step)) for step in range(4 * hours)])
    one = Forecast(
        issued_at=issued,
        topology=NAME,
        source=source,
        start=issued,
        step_s=900,
        quantiles=QUANTILES,
        rate_per_s=np.repeat(mean[:, None], 4, axis=1),
        peak_per_s={3600: np.full(4, mean[:4].max())},
        paths_per_s=np.repeat(mean[None], 100, axis=0),
        forecaster={3600: "truth"},
        trained_from=issued - timedelta(days=7),
        trained_to=issued,
        history_digest="",
        seed=7,
    )
    name = f"{source}-{issued:%d%H%M}"
    folder = made.forecasts_dir / name
    write_forecast(one, folder)
    entry = ForecastEntry(name, NAME, source, issued, one.end, "run", "", str(folder), "", "")
    ledger_of(made).record_forecast(entry)
    return folder


def basis_of(made: Settings, planned: ProposedSchedule) -> DecisionBasis:
    return ledger_of(made).schedule(planned.schedule_id).schedule.basis


def told(made: Settings, planned: ProposedSchedule) -> tuple[str, str]:
    """What ledger and report say of the rung."""
    kept = ledger_of(made).schedules(NAME, limit=1)[0]
    assert kept.id == planned.schedule_id
    basis = replace(kept.schedule.basis, calibration=NOT_CALIBRATED)
    return basis_summary(basis), planned.report.read_text(encoding="utf-8")


def test_fresh_forecasts__are_planned_by_without_a_word(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    for source in SOURCES:
        forecast(made, source)
    planned = plan(Workspace(made), NAME)
    assert (planned.basis.rung, told(made, planned)[0]) == (Rung.FORECAST, "")
    assert max(step.deploy_at for step in planned.steps) > NOW


def test_old_forecasts__give_way_to_profiles_that_plan_for_the_same_day(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    for source in SOURCES:
        forecast(made, source, timedelta(hours=5))
    planned = plan(Workspace(made), NAME)
    basis = basis_of(made, planned)
    assert planned.basis.rung is basis.rung is Rung.PROFILE
    stale = [Cause(CauseKind.STALE_FORECAST, source, 5 * 3600.0, 3 * 3600.0) for source in SOURCES]
    assert list(basis.causes) == stale
    page = planned.report.read_text(encoding="utf-8")
    assert f"({RUNGS[Rung.PROFILE]})</h1>" in page
    assert cause_words(stale[0]) in page
    # The day's 2 × 60 tuples a second keep 12 instances of count busy all the time; the first of them come before it.
    schedule = ledger_of(made).schedule(planned.schedule_id).schedule
    assert max(step.plan.parallelism["count"] for step in schedule.steps) >= 12
    assert any(step.plan.parallelism["count"] > 4 for step in schedule.steps if step.deploy_at <= NOW.replace(hour=8))
    # Made again it is the same, and its report is written again from the profiles that were kept.
    assert plan(Workspace(made), NAME).schedule_id == planned.schedule_id
    assert cause_words(stale[0]) in report(Workspace(made), planned.schedule_id).read_text(encoding="utf-8")


def test_a_calibration_that_drifted__makes_the_next_plan_a_new_decision(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    for source in SOURCES:
        forecast(made, source)
    first = plan(Workspace(made), NAME).schedule_id
    assert plan(Workspace(made), NAME).schedule_id == first
    write_whole("0123456789ab", drift_path(topology_config(NAME, made), made))
    second = plan(Workspace(made), NAME).schedule_id
    assert second != first
    assert plan(Workspace(made), NAME).schedule_id == second


def test_profiles__count_an_event_that_the_file_declares_for_the_next_hour(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    start = NOW + timedelta(minutes=29)
    event = f"{{label: sale, kind: other, start: {start:%Y-%m-%dT%H:%M}Z, end: {NOW:%Y-%m-%dT07:30}Z, ratio: 6}}"
    file = made.topologies / f"{NAME}.yaml"
    file.write_text(f"{file.read_text()}events: [{event}]\n")
    planned = plan(Workspace(made), NAME)
    assert planned.basis.rung is Rung.PROFILE
    # 2 · 8 tuples a second keep 1.6 instances of count busy before 8, 6 times as many 9.6 during the event.
    schedule = ledger_of(made).schedule(planned.schedule_id).schedule
    assert max(s.plan.parallelism["count"] for s in schedule.steps if s.deploy_at <= NOW.replace(minute=30)) >= 10


def test_one_lost_forecast__has_a_profile_beside_the_forecast_of_the_other_source(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    forecast(made, "left", timedelta(hours=1))
    shutil.rmtree(forecast(made, "right", timedelta(hours=1)))
    planned = plan(Workspace(made), NAME)
    assert planned.basis.rung is Rung.PROFILE
    (cause,) = basis_of(made, planned).causes
    assert (cause.kind, cause.source) == (CauseKind.UNREADABLE_FORECAST, "right")
    entry = ledger_of(made).schedule(planned.schedule_id)
    assert entry.forecasts == ("left-160500",)
    assert set(planned.peaks_per_s) == set(SOURCES)


def test_forecasts_of_two_moments__are_not_mixed(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    forecast(made, "left")
    forecast(made, "right", timedelta(hours=1))
    planned = plan(Workspace(made), NAME)
    assert planned.basis.rung is Rung.PROFILE
    hour = timedelta(hours=1)
    other_grid = Cause(CauseKind.OTHER_GRID, "right", 900.0, 900.0, at=NOW - hour, other="left", other_at=NOW)
    assert basis_of(made, planned).causes == (other_grid,)


def test_a_forecast_that_ends_soon__gives_way_although_it_is_new(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    for source in SOURCES:
        forecast(made, source, timedelta(hours=2), hours=3)
    # Half of its three hours are needed.
    short = Cause(CauseKind.SHORT_FORECAST, "left", 3600.0, 1.5 * 3600.0)
    assert short in basis_of(made, plan(Workspace(made), NAME)).causes


@pytest.mark.parametrize(("guard", "rung"), [("act", Rung.GUARD), ("advise", Rung.HOLD)])
def test_without_a_history__the_running_plan_is_held_and_the_cause_recorded(
    tmp_path: Path, guard: str, rung: Rung
) -> None:
    made = install(tmp_path / "a", guard=guard, days=0)
    planned = plan(Workspace(made), NAME)
    assert (planned.basis.rung, planned.steps) == (rung, ())
    *lacking, profile = basis_of(made, planned).causes
    assert lacking == [Cause(CauseKind.NO_FORECAST, source) for source in SOURCES]
    assert profile.kind is CauseKind.NO_PROFILE
    page = planned.report.read_text(encoding="utf-8")
    assert f"({RUNGS[rung]})</h1>" in page
    assert cause_words(lacking[0]) in page
    held = ledger_of(made).schedule(planned.schedule_id).schedule
    assert held.current.parallelism == {"left": 1, "right": 1, "count": 4}
    # 6 instances for an hour; then it is looked at again.
    assert (held.cost_instance_hours, held.end - held.start) == (6.0, timedelta(hours=1))
    assert plan(Workspace(made), NAME).schedule_id == planned.schedule_id
    TraceClock(made.clock_file).advance_to(NOW + timedelta(hours=1))
    assert plan(Workspace(made), NAME).schedule_id != planned.schedule_id


WINDOWS = [
    {"days": [day], "from": "18:00", "until": "22:00", "timezone": "UTC", "min_parallelism": {"count": count}}
    for day, count in (("mon", 12), ("wed", 20))
]


@pytest.mark.parametrize("mode", ["act", "floor", "shadow"])
def test_instances_that_people_want__are_asked_of_them_where_nothing_can_be_planned_by(
    tmp_path: Path, mode: str
) -> None:
    made = install(tmp_path / "a", mode=mode, days=0)
    file = made.topologies / f"{NAME}.yaml"
    body = yaml.safe_load(file.read_text())
    body["planning"]["windows"] = WINDOWS
    file.write_text(yaml.safe_dump(body))
    told = schedule_answer(plan(Workspace(made), NAME)).warnings
    if mode == "shadow":  # nothing is deployed
        assert told == ()
        return
    (window,) = told
    # 4 run; the bounds of Wednesday are more than a day ahead.
    assert "at least 12 instances of count on Mon 16 Mar 18:00–22:00, and count 4 is held" in window.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    remedy = "set the scaler's bounds" if mode == "floor" else "`forescale deploy now pair --set count=12`"
    assert window.endswith(f"Unless an approved step changes that in time, {remedy}.")


@pytest.mark.parametrize("mode", ["act", "shadow"])
def test_what_was_approved_or_is_followed__stands_while_the_plan_is_held(tmp_path: Path, mode: str) -> None:
    made = install(tmp_path / "a", mode=mode)
    for source in SOURCES:
        forecast(made, source)
    ledger = ledger_of(made)
    planned = plan(Workspace(made), NAME)
    if mode == "act":
        ledger.approve_schedule(planned.schedule_id, at=NOW, by="anna", why="")
    shutil.rmtree(made.history_dir)
    TraceClock(made.clock_file).advance_to(NOW + timedelta(hours=4))
    assert plan(Workspace(made), NAME).basis.rung is Rung.HOLD
    ahead = [
        step for step in ledger.steps(schedule_id=planned.schedule_id) if step.deploy_at > NOW + timedelta(hours=4)
    ]
    assert {str(step.state) for step in ahead} == {"approved" if mode == "act" else "shadow"}


def test_what_was_announced__keeps_its_bonus_over_a_plan_that_was_held(tmp_path: Path) -> None:
    made = install(tmp_path / "a")
    for source in SOURCES:
        forecast(made, source)
    ledger, config = ledger_of(made), topology_config(NAME, made)
    planned = plan(Workspace(made), NAME)
    ledger.approve_schedule(planned.schedule_id, at=NOW, by="anna", why="")
    later = NOW + timedelta(minutes=1)
    before = announced_turns(ledger, config, later)
    assert before
    held = replace(
        ledger.schedule(planned.schedule_id).schedule,
        made_at=later,
        steps=(),
        basis=DecisionBasis(Rung.HOLD, (Cause(CauseKind.NO_FORECAST, "left"),)),
    )
    ledger.record_schedule(held, decides=False)
    assert announced_turns(ledger, config, later) == before


def test_a_history_below_its_bounds__makes_no_profile_and_is_told_beside_a_forecast(tmp_path: Path) -> None:
    made = install(tmp_path / "a", missing=0.25)
    bound = ("left", pytest.approx(0.75), 0.9, "min_observed")

    def poor(planned: ProposedSchedule, kind: CauseKind) -> list[tuple[object, ...]]:
        causes = [each for each in basis_of(made, planned).causes if each.kind is kind]
        return [(each.source, each.value, each.bound, each.setting) for each in causes]

    assert poor(plan(Workspace(made), NAME), CauseKind.NO_PROFILE) == [bound]
    for source in SOURCES:
        forecast(made, source)
    planned = plan(Workspace(made), NAME)
    assert planned.basis.rung is Rung.FORECAST
    assert bound in poor(planned, CauseKind.POOR_HISTORY)


CONDITIONS = st.fixed_dictionaries(
    {
        "ages_h": st.tuples(*[st.sampled_from([None, 0, 1, 5])] * 2),
        "lost": st.sets(st.sampled_from(SOURCES)),
        "days": st.sampled_from([0, 0.5, 1.5, 8]),
        "missing": st.sampled_from([0.0, 0.05, 0.6]),
        "guard": st.sampled_from(["act", "off"]),
    }
)


@given(CONDITIONS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_lacking__there_is_a_schedule_or_a_named_error(tmp_path_factory, conditions) -> None:
    made = install(
        tmp_path_factory.mktemp("any") / "a",
        guard=f'"{conditions["guard"]}"',
        missing=conditions["missing"],
        days=conditions["days"],
    )
    for source, age_h in zip(SOURCES, conditions["ages_h"], strict=True):
        if age_h is not None:
            folder = forecast(made, source, timedelta(hours=age_h))
            if source in conditions["lost"]:
                shutil.rmtree(folder)
    try:
        planned = plan(Workspace(made), NAME)
    except EXPECTED:
        return
    assert planned.report.exists()
    assert planned.basis.rung is Rung.FORECAST or planned.basis.causes
    assert planned.basis.rung.plans or not planned.steps
