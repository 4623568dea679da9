"""A plan keeps within what the past week has left of its violation budget, and says so on every way out."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from shadow_days import EVERY, FIRST, NAME, install, plan_now

from forescale.cli.main import main
from forescale.jobs.violation_budget import BudgetUse
from forescale.report.kit.wording import minutes
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.clock import TraceClock
from planner.decision_basis import BudgetFacts

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]


def test_a_plan__is_paced_by_the_week_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = install(tmp_path, "act")
    ledger = ledger_of(settings)
    cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state()
    # Five minutes before the simulator began, as if another cluster had told of them.
    lags_s = [(FIRST - timedelta(minutes=minute), 121.0) for minute in range(5)]
    ledger.minutes.record(NAME, lags_s, max_lag_s=120.0)
    TraceClock(settings.clock_file).advance_to(FIRST + EVERY)
    made = plan_now(settings)
    # 12 hours of the simulator without violation: .005 of 725 minutes are 3.625, of the day to come 7.2, less 5.
    assert made.budget == BudgetUse(pytest.approx(5.825), 725, 5)
    schedule = ledger.schedule(made.schedule_id).schedule
    assert schedule.basis.budget == BudgetFacts(725, 5, pytest.approx(3.625))
    page = made.report.read_text(encoding="utf-8")
    assert minutes(5.825) in page
    for name, value in (("HOME", settings.home), ("TOPOLOGIES", tmp_path), ("MLRUNS", settings.mlruns)):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    monkeypatch.setenv("FORESCALE_CLOCK", "trace")
    with pytest.raises(SystemExit) as ended:
        main(["plan", NAME, "--json"])
    assert not ended.value.code
    told = json.loads(capsys.readouterr().out)["budget"]
    assert told == {"allowed_minutes": pytest.approx(5.825), "past_minutes": 725, "used_minutes": 5}
