"""Where the minutes come from that a violation budget is paced by: the simulator's record, the guard, deployments."""

from datetime import timedelta
from pathlib import Path

import pytest
from guarded_pair import MONDAY, begin_pair

from forescale.files.topology import TopologyConfig
from forescale.jobs.deploy import deploy
from forescale.jobs.guard import guard
from forescale.jobs.requested_deployment import request_deployment
from forescale.jobs.violation_budget import budget_facts, record_lags
from forescale.settings import Settings
from forescale.situation.past import past_minutes
from forescale.situation.workspace import Workspace
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.clock import TraceClock
from planner.clusters.cluster import SourceBacklog
from planner.clusters.waiting import longest_lag_s
from planner.decision_basis import BudgetFacts
from planner.horizon.budget import Budget
from planner.ledger.minute_records import MinuteCount

MINUTE = timedelta(minutes=1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """30 tuples a second come and 20 leave: after t seconds what came at 2/3 t is next, and has waited for t/3."""
    made = Settings(home=tmp_path / "home", topologies=tmp_path, mlruns=tmp_path / "mlruns", clock="trace")
    begin_pair(made)
    cluster_of(topology_config("pair", made), made, clock_of(made)).state()
    return made


def config_of(settings: Settings, planning: str = "") -> TopologyConfig:
    file = settings.topologies / "pair.yaml"
    file.write_text(file.read_text().replace("planning: {", f"planning: {{{planning}"))
    return topology_config("pair", settings)


def paced(settings: Settings, config: TopologyConfig) -> tuple[Budget, BudgetFacts]:
    workspace = Workspace(settings)
    record_lags(config, workspace.ledger, workspace.cluster(config), workspace.clock.now())
    budget = workspace.situation(config).budget
    return budget, budget_facts(config.planning, budget)


def known(settings: Settings) -> MinuteCount:
    return past_minutes(ledger_of(settings), "pair", clock_of(settings).now() + MINUTE, shadow=False)


def test_a_budget__is_paced_by_the_record_of_the_simulator(settings: Settings) -> None:
    config = config_of(settings, "max_lag_s: 170, ")
    TraceClock(settings.clock_file).advance_to(MONDAY + 30 * MINUTE)
    # Minute m ends with a lag of 20 (m + 1) s, which exceeds 170 s from m = 8 on: 22 of 30.
    budget, facts = paced(settings, config)
    assert (budget.past_minutes, budget.used_minutes) == (30, 22)
    # .005 of them are allowed.
    assert facts == BudgetFacts(30, 22, pytest.approx(0.15))
    # Of the 7.2 minutes that a day allows, a quarter stays whatever was used.
    assert budget.minutes(1440) == 1.8
    assert paced(settings, config) == (budget, facts)


def test_a_budget__looks_seven_days_back(settings: Settings) -> None:
    config, ledger = config_of(settings), ledger_of(settings)
    week = MONDAY - timedelta(days=8)
    lags_s = [(week + number * MINUTE, 181.0 if number <= 1440 + 12 else 0.0) for number in range(1, 8 * 1440 + 1)]
    ledger.minutes.record("pair", lags_s, max_lag_s=180.0)
    budget, facts = paced(settings, config)
    assert facts == BudgetFacts(10_080, 12, pytest.approx(50.4))
    # 7.2 of the day's own and 50.4 - 12 that are left of the week, of which no more than twice its own are used now.
    assert budget.minutes(1440) == pytest.approx(3 * 7.2)


def test_a_budget__tells_where_nothing_is_known_and_what_a_minute_costs(settings: Settings) -> None:
    unknown, facts = paced(settings, config_of(settings))
    assert facts.past_minutes == 0
    assert unknown.minutes(1440) == 7.2
    TraceClock(settings.clock_file).advance_to(MONDAY + 5 * MINUTE)
    priced, facts = paced(settings, config_of(settings, "price_per_violation_minute: 0.5, "))
    assert facts == BudgetFacts(5, 0, None, price_h=0.5)
    assert priced.minutes(1440) is None


def test_the_guard__keeps_the_minutes_that_it_looks_at(settings: Settings) -> None:
    # After 6 minutes the lag is 120 s, after 12 it is 240 s.
    for minute, counted in ((6, MinuteCount(1, 0)), (12, MinuteCount(2, 1))):
        TraceClock(settings.clock_file).advance_to(MONDAY + minute * MINUTE)
        guard(Workspace(settings), "pair")
        assert known(settings) == counted


def test_a_deployment__keeps_the_minutes_of_its_catch_up(settings: Settings) -> None:
    TraceClock(settings.clock_file).advance_to(MONDAY + 12 * MINUTE)
    asked = request_deployment(
        Workspace(settings), "pair", parallelism={"work": 6}, deploy_at=None, by="anna", request_id="more"
    )
    deploy(Workspace(settings), asked.step_id)
    # It runs again from 12:30 on, 270 s behind. 60 a second leave: s seconds later the lag is 270 - s. It is looked at
    # every 5 s until 17:00, in the five minutes from the 12th on, and exceeds 180 s before 14:00, in two of them.
    assert known(settings) == MinuteCount(5, 2)


def test_lag__is_known_where_that_of_all_sources_is() -> None:
    quick, slow, untold = SourceBacklog(3.0, 2.0), SourceBacklog(9.0, 200.0), SourceBacklog(9.0, None, "not told")
    assert longest_lag_s({"a": quick, "b": slow}) == 200.0
    assert longest_lag_s({"a": slow, "b": untold}) is None
    assert longest_lag_s({}) is None


def test_backlogs__are_told_where_the_ledger_cannot_keep_them(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    config, clock, ledger = config_of(settings), clock_of(settings), ledger_of(settings)
    told = recorded_backlogs(config, cluster_of(config, settings, clock), ledger, clock)
    file = settings.home / "ledger.db"
    file.unlink()
    file.touch()
    assert set(told()) == {"read"}
    assert "the lag of pair is not recorded" in caplog.text
