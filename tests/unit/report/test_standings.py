"""Where a topology stands, by a real ledger: what runs, what is next, and what somebody should see to."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from ledger_decisions import NOON, after, asked_by_hand, brought_to, forecast_of, schedule_of

from forecasting.drift import ForecastDrift
from forescale.codec import handed_over
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.forecast_report import SourcePage, TopologyPages
from forescale.jobs.standings import decided, shown_standing
from forescale.report.overview.alarms import alarms
from forescale.report.overview.standing_cells import running_cell
from forescale.settings import Settings
from forescale.situation.known_topologies import known_topologies
from forescale.situation.workspace import Workspace
from forescale.standing import Standing
from forescale.wiring.parts import ledger_of
from modeling.excuse import Excuse
from planner.clock import TraceClock
from planner.decision_basis import ArrivalFacts, Cause, CauseKind, DecisionBasis, Rung
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

CALLS = """
topology: calls
operators: { ingest: { service_s: 0.001 }, transcribe: { service_s: 0.5 } }
streams: [{ from: ingest, to: transcribe }]
planning: { allow: 0.01 }
cluster: { kind: simulator, truth: truth, slots: 9, downtime_s: 20, parallelism: { ingest: 1, transcribe: 2 } }
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "calls.yaml").write_text(CALLS)
    made = Settings(home=tmp_path / "home", topologies=tmp_path / "topologies", clock="trace")
    made.home.mkdir()
    TraceClock(made.clock_file).start_at(NOON)
    return made


@pytest.fixture
def ledger(settings: Settings) -> Ledger:
    return ledger_of(settings)


def stands(settings: Settings, ledger: Ledger, name: str = "calls") -> Standing:
    return shown_standing(Workspace(settings), name, known_topologies(settings, ledger)[name])


def test_a_topology_of_which_nothing_was_decided__stands_nowhere(settings: Settings, ledger: Ledger) -> None:
    found = stands(settings, ledger)
    assert (found.schedule, found.next_step, alarms(found)) == (None, None, ())


def test_what_runs__is_the_plan_at_the_decision_until_a_step_is_verified(settings: Settings, ledger: Ledger) -> None:
    made = ledger.record_schedule(schedule_of(4, 6), forecasts=[])
    before = stands(settings, ledger)
    assert running_cell(before).text == "ingest 1 · transcribe 2"
    assert before.next_step is not None
    assert (before.next_step.id, before.next_step.state, len(before.ahead)) == (f"{made}-1", StepState.PROPOSED, 2)
    brought_to(ledger, f"{made}-1", StepState.VERIFIED)
    then = stands(settings, ledger)
    assert running_cell(then).text == "ingest 1 · transcribe 4"
    assert then.next_step is not None
    assert (then.next_step.id, len(then.ahead)) == (f"{made}-2", 1)


def test_a_shadow__tells_the_plan_that_would_run(settings: Settings, ledger: Ledger) -> None:
    ledger.record_schedule(schedule_of(4), forecasts=[], shadow=True)
    found = stands(settings, ledger)
    assert found.schedule is not None
    assert found.schedule.shadow
    assert running_cell(found).text == "ingest 1 · transcribe 2"


def test_budget__is_the_share_allowed_of_the_minutes_known(settings: Settings, ledger: Ledger) -> None:
    lags_s = [(NOON - timedelta(minutes=minute), 500.0 if minute < 3 else 0.0) for minute in range(1, 201)]
    ledger.minutes.record("calls", lags_s, max_lag_s=180)
    budget = stands(settings, ledger).budget
    assert budget is not None
    assert (budget.used_minutes, budget.past_minutes) == (2, 200)
    assert budget.past_allowed_minutes == pytest.approx(2.0)  # 1 % of 200


def test_a_step_that_was_rolled_back__is_an_alarm_until_another_is_verified(settings: Settings, ledger: Ledger) -> None:
    made = ledger.record_schedule(schedule_of(4, 6), forecasts=[])
    brought_to(ledger, f"{made}-1", StepState.DEPLOYING)
    ledger.transition(
        f"{made}-1",
        expected=StepState.DEPLOYING,
        to=StepState.ROLLED_BACK,
        at=after(61),
        by="forescale",
        why="it did not hold",
    )
    assert "rolled back: it did not hold" in alarms(stands(settings, ledger))[0]
    for before, following in (
        (StepState.PROPOSED, StepState.APPROVED),
        (StepState.APPROVED, StepState.DUE),
        (StepState.DUE, StepState.DEPLOYING),
        (StepState.DEPLOYING, StepState.VERIFIED),
    ):
        ledger.transition(f"{made}-2", expected=before, to=following, at=after(125), by="anna", why="as planned")
    assert alarms(stands(settings, ledger)) == ()


def test_a_schedule_that_is_over__is_an_alarm(settings: Settings, ledger: Ledger) -> None:
    ledger.record_schedule(schedule_of(4), forecasts=[])
    TraceClock(settings.clock_file).start_at(after(24 * 60))
    assert "run `forescale plan calls`" in alarms(stands(settings, ledger))[0]


def test_a_decision_without_a_usable_forecast__is_an_alarm(settings: Settings, ledger: Ledger) -> None:
    told = replace(schedule_of(4), basis=DecisionBasis(Rung.PROFILE, (Cause(CauseKind.NO_FORECAST, "ingest"),)))
    ledger.record_schedule(told, forecasts=[])
    assert alarms(stands(settings, ledger)) == (
        "planned without a forecast, by time-of-week profile: there is no forecast of ingest",
    )


def test_a_feed_that_was_silent_at_the_decision__is_an_alarm(settings: Settings, ledger: Ledger) -> None:
    basis = DecisionBasis(forecasts=("run-1",), arrivals=(ArrivalFacts("ingest", silent_s=7200.0),))
    ledger.record_schedule(replace(schedule_of(4), basis=basis), forecasts=[])
    assert alarms(stands(settings, ledger)) == (
        "nothing was observed of ingest in the last 120 min that the forecast knows: see `forescale doctor calls`",
    )


def test_late_minutes_that_no_plan_spares__are_an_alarm_and_those_that_pay_a_debt_are_not(
    settings: Settings, ledger: Ledger
) -> None:
    made = schedule_of(4)
    few = Excuse(made.current, "instances", "", 70.0, 30.0, "instances 70 > 30", "raise max_instances to 70")
    broken = replace(made, violation_minutes=947.0, allowed_minutes=7.2, own_minutes=7.2, excuses=(few,))
    ledger.record_schedule(broken, forecasts=[])
    (alarm,) = alarms(stands(settings, ledger))
    assert alarm.replace("\N{NO-BREAK SPACE}", " ") == (
        "947 min late expected, 7.2 min allowed: instances 70 > 30; raise max_instances to 70"
    )
    paid = replace(made, violation_minutes=5.0, allowed_minutes=2.0, own_minutes=7.2, made_at=after(1))
    ledger.record_schedule(paid, forecasts=[])
    assert alarms(stands(settings, ledger)) == ()


def test_drift__is_told_as_the_last_forecast_found_it(settings: Settings, ledger: Ledger) -> None:
    drift = ForecastDrift(3600, True, "the p95 was exceeded in 9 of the last 60", 0.85, 1.2, float("nan"), 60)
    pages = {
        "ingest": SourcePage(None, "", {3600: drift.reason}, {3600: 2.5}, 0.1, {3600: drift}),
        "other": SourcePage(None, "nothing came for 5 h", {}, {}, float("nan"), {}),
    }
    file = settings.reports_dir / "calls" / "forecasts.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(handed_over(TopologyPages(pages))))
    assert alarms(stands(settings, ledger)) == (
        "forecasts of ingest 1\N{NO-BREAK SPACE}h ahead have become worse: the p95 was exceeded in 9 of the last 60",
        "other: nothing came for 5 h",
    )


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"sources": 3}', '{"schema_version": 99, "sources": {}}'])
def test_what_a_forecast_left_damaged__hides_no_topology(settings: Settings, ledger: Ledger, damaged: str) -> None:
    file = settings.reports_dir / "calls" / "forecasts.json"
    file.parent.mkdir(parents=True)
    file.write_text(damaged)
    assert alarms(stands(settings, ledger)) == ()


def test_every_topology_with_a_file_or_a_forecast__is_known(settings: Settings, ledger: Ledger) -> None:
    (settings.topologies / "broken.yaml").write_text("topology: [")
    ledger.record_forecast(forecast_of(topology="gone"))
    known = known_topologies(settings, ledger)
    assert isinstance(known["calls"], TopologyConfig)
    assert isinstance(known["broken"], FileError)
    assert known["gone"] is None
    assert "broken.yaml" in alarms(stands(settings, ledger, "broken"))[0]
    assert "it has no topology file" in alarms(stands(settings, ledger, "gone"))[0]


def test_a_step__whose_time_went_by_is_no_next_one_and_one_that_is_deployed_is(
    settings: Settings, ledger: Ledger
) -> None:
    made = ledger.record_schedule(schedule_of(4, 6), forecasts=[])
    brought_to(ledger, f"{made}-1", StepState.DEPLOYING)
    found = stands(settings, ledger)
    assert found.next_step is not None
    assert (found.next_step.id, found.next_step.state) == (f"{made}-1", StepState.DEPLOYING)
    # The second waits from 14:00 to 15:30, and nobody has called it off yet.
    TraceClock(settings.clock_file).start_at(after(16 * 60))
    before = stands(settings, ledger)
    assert ([step.id for step in before.ahead], [step.id for step in before.lost]) == ([f"{made}-1"], [f"{made}-2"])
    ledger.expire_steps(after(16 * 60), by="forescale")
    assert [(step.id, step.state) for step in stands(settings, ledger).lost] == [(f"{made}-2", StepState.EXPIRED)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE schedules SET body = '{}' WHERE topology = 'calls'",
        "UPDATE schedules SET current_plan = '['",
        "UPDATE steps SET plan = '['",
        "UPDATE schedules SET made_at = 'x', shadow = 1",
    ],
)
def test_a_damaged_row__is_an_alarm_of_its_topology(settings: Settings, ledger: Ledger, damage: str) -> None:
    ledger.record_schedule(schedule_of(4), forecasts=[], shadow="shadow" in damage)
    with closing(sqlite3.connect(settings.home / "ledger.db")) as opened, opened:
        opened.execute(damage)
    found = stands(settings, ledger)
    assert "is damaged: " in alarms(found)[0]
    assert damage.split()[1] in alarms(found)[0]
    assert (found.schedule is None) == ("schedules" in damage)


@pytest.mark.parametrize(
    ("first", "then"),
    [("topology: [", CALLS), (CALLS, CALLS.replace("0.01", "0.02"))],
    ids=["unreadable before", "readable before"],
)
def test_a_topology_file__is_read_again_though_it_looks_as_old_and_as_long(
    settings: Settings, ledger: Ledger, first: str, then: str
) -> None:
    file = settings.topologies / "calls.yaml"
    for text in (first, then):
        file.write_text(text.ljust(len(CALLS)))
        os.utime(file, (0, 0))
        known = known_topologies(settings, ledger)["calls"]
    assert isinstance(known, TopologyConfig)
    assert known.planning.allow == (0.01 if then == CALLS else 0.02)


def test_a_schedule_that_a_plan_by_hand_replaced__says_who_asked_for_it_and_why(ledger: Ledger) -> None:
    schedule_id = ledger.record_schedule(schedule_of(3, 4))
    brought_to(ledger, f"{schedule_id}-1", StepState.VERIFIED)
    by_hand = asked_by_hand(ledger)
    for before, to in pairwise((StepState.APPROVED, StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED)):
        ledger.transition(by_hand, expected=before, to=to, at=after(9), by="deploy", why="as asked")
    (of,) = decided(ledger, [ledger.schedule(schedule_id)], {})
    assert of.replaced == f"replaced by {ledger.step(by_hand).plan.brief()}, deployed by hand: asked for by anna (fair)"
