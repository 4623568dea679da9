"""What 0.1 wrote is read: topology file, plan, profiles, history, forecast, ledger and the simulator's state.

Its calls come at even distances: in quarter q of a day round(60 - 40 cos(2 pi q / 96)) of them.
"""

from math import cos, pi
from pathlib import Path

import numpy as np
import pytest
from home_of_0_1 import NOW, SCHEDULE, home_of_0_1, without_what_is_gone

from forecasting.arrivals.store import read_history
from forecasting.pipeline import known_history
from forescale.cli.main import main
from forescale.files.plan import read_plan_file
from forescale.files.profile import read_profile_file
from forescale.jobs.deploy import deploy_due
from forescale.jobs.newest_forecasts import newest_forecasts, recorded_forecast
from forescale.jobs.report import report
from forescale.jobs.review import review
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError
from planner.ledger.step_state import StepState
from planner.scaling_schedule import AlternativeKind


def calls(quarter: int) -> int:
    return round(60 - 40 * cos(2 * pi * (quarter % 96) / 96))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = home_of_0_1(tmp_path)
    without_what_is_gone(made)
    return made


def test_a_topology_file__is_read_once_the_fields_that_are_gone_are_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home_of_0_1(tmp_path)
    monkeypatch.setenv("FORESCALE_HOME", str(settings.home))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(settings.topologies))
    with pytest.raises(SystemExit, match="1"):
        main(["config", "check"])
    told = capsys.readouterr().out
    assert "planning.slot_s was removed in 0.2; delete it: schedules have no slots any more" in told
    assert "planning.safety_s was removed in 0.2; delete it: lead_s is how much earlier" in told
    without_what_is_gone(settings)
    with pytest.raises(SystemExit, match="0"):
        main(["config", "check"])
    planning = topology_config("calls", settings).planning
    assert (planning.max_lag_s, planning.downtime_s, planning.max_instances) == (180, 30, 20)


def test_a_plan_and_profiles__are_read_field_by_field(settings: Settings) -> None:
    topology = topology_config("calls", settings).as_topology()
    plan = read_plan_file(settings.home / "plan.yaml", topology)
    assert plan == PhysicalPlan("calls", {"ingest": 1, "transcribe": 3})
    profiles = read_profile_file(settings.home / "profiles" / "calls.json", topology)
    assert profiles["ingest"].selectivity == {"ingest->transcribe": 1.0}
    measured = profiles["transcribe"]
    # The simulator takes 21 s where the topology file declares 20.
    assert (measured.service_s, measured.service_cv2, measured.samples) == (21.0, 0.5, 2)
    assert measured.keys is not None
    assert dict(measured.keys.shares) == {"de": 0.5, "en": 0.25, "fr": 0.25}


def test_a_history__is_read_count_by_count(settings: Settings) -> None:
    series = read_history(settings.history_dir, "calls").series["ingest"]
    assert (series.window_s, series.end) == (900, NOW)
    assert series.counts.tolist() == [calls(quarter) for quarter in range(5 * 96 + 24)]


def test_a_forecast__is_read_with_its_paths_and_is_of_the_history_beside_it(settings: Settings) -> None:
    (entry,) = newest_forecasts(topology_config("calls", settings), ledger_of(settings)).values()
    forecast = recorded_forecast(entry)
    assert (forecast.source, forecast.issued_at, forecast.start) == ("ingest", NOW, NOW)
    assert forecast.quantiles == (0.5, 0.9, 0.95, 0.99)
    # Every day is like the one before, so all 100 paths are what comes: from 06:00, in 16 steps until 10:00.
    expected = np.array([calls(24 + step) / 900 for step in range(16)])
    assert forecast.paths_per_s.shape == (100, 16)
    assert np.allclose(forecast.paths_per_s, expected)
    assert {horizon: peak.tolist() for horizon, peak in forecast.peak_per_s.items()} == {
        900: pytest.approx([calls(24) / 900] * 4),
        3600: pytest.approx([calls(27) / 900] * 4),
    }
    assert forecast.history_snapshot == ""
    history = read_history(settings.history_dir, "calls").series["ingest"]
    assert known_history(history, NOW, 900).digest() == forecast.history_digest == entry.history_digest


@pytest.mark.slow
def test_a_schedule__is_read_and_its_step_approved_and_deployed_to_the_simulator_of_0_1(settings: Settings) -> None:
    config, ledger = topology_config("calls", settings), ledger_of(settings)
    (made,) = ledger.schedules("calls")
    schedule = made.schedule
    assert (made.id, schedule.quantile, len(schedule.alternatives)) == (SCHEDULE, 0.95, 2)
    (planned,) = schedule.steps
    assert planned.load_per_s == {"ingest": pytest.approx(calls(39) / 900)}  # the last quarter's, before 10:00
    # Half of all is of one key: its instance is busy for 0.10333/s x 0.5 x 21 s, and one over that is how far it fits.
    assert planned.headroom_factor == pytest.approx(1 / (calls(39) / 900 * 0.5 * 21))
    assert schedule.violation_minutes == 165  # 9,900 s in 0.1
    # Its reasons stay as 0.1 worded them; its alternatives have their kind.
    assert schedule.recorded
    assert planned.recorded
    assert {(each.kind, each.name) for each in schedule.alternatives} == {
        (AlternativeKind.HOLD, ""),
        (AlternativeKind.STATIC, ""),
    }
    (excuse,) = schedule.excuses
    # With 20 instances two keys share one, half and a quarter of all: 0.10333/s x 0.75 x 21 s = 1.6275.
    assert (excuse.value, excuse.bound) == (pytest.approx(1.6275), 0.85)
    by_hand, waiting = ledger.steps(topology="calls")
    assert (by_hand.state, waiting.state) == (StepState.VERIFIED, StepState.PROPOSED)
    running = cluster_of(config, settings, clock_of(settings)).state().plan
    assert running == waiting.replaces == PhysicalPlan("calls", {"ingest": 1, "transcribe": 2})
    review(Workspace(settings), SCHEDULE, approve=True, by="anna", why="as planned")
    done = deploy_due(Workspace(settings), "calls")
    assert [each.state for each in done.deployed] == [StepState.VERIFIED], done
    assert cluster_of(config, settings, clock_of(settings)).state().plan == waiting.plan


def test_a_report__of_a_schedule_that_the_topology_file_has_left_says_so(settings: Settings) -> None:
    file = settings.topologies / "calls.yaml"
    text = file.read_text().replace(
        "streams:\n", "  store: { service_s: 0.01 }\nstreams:\n  - { from: ingest, to: store }\n"
    )
    file.write_text(text.replace("transcribe: 2 }", "transcribe: 2, store: 1 }"))
    with pytest.raises(PlanError, match=rf"schedule {SCHEDULE} does not fit the topology file .*operator 'store'"):
        report(Workspace(settings), SCHEDULE)
