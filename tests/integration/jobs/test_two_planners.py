"""Two planners of the same forecasts at once: whoever records first has decided for both."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import mlflow
import numpy as np
import pytest
from certain_forecast import record_certain_forecast
from shadow_days import BEFORE, FIRST, HIGH, MONDAY, NAME, install, plan_now

from forescale.files.profile import read_profile_file, write_profile_file
from forescale.jobs.plan import PlanRequest, kept, plan
from forescale.settings import Settings
from forescale.situation.known_profiles import profile_path
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.ledger.schedule_rows import schedule_digest
from planner.scaling_schedule import ScalingSchedule


def measure_twice_as_slow(settings: Settings) -> None:
    path, now = profile_path(topology_config(NAME, settings), settings), clock_of(settings).now()
    slower = {
        name: replace(one, service_s=2 * one.service_s, intervals={}) for name, one in read_profile_file(path).items()
    }
    write_profile_file(path, NAME, slower, now.isoformat())


def test_plan__of_the_slower_of_two_planners_takes_what_the_quicker_one_has_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked before either has recorded, and the slower one calibrates upon what the quicker one wrote."""
    settings = install(tmp_path, "act")
    cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state()  # its first use starts it
    clock_of(settings).wait(600)
    quicker, made = plan_now(settings), []

    def also_seen(request: PlanRequest, schedule: ScalingSchedule, ledger: Ledger) -> ScheduleEntry:
        made.append(schedule_digest(schedule))
        return kept(request, schedule, ledger)

    monkeypatch.setattr("forescale.jobs.plan.earlier_schedule", lambda *_: None)
    monkeypatch.setattr("forescale.jobs.plan.kept", also_seen)
    measure_twice_as_slow(settings)
    slower = plan(Workspace(settings), NAME)
    assert made != [quicker.schedule_id]  # it would have decided otherwise
    assert slower.schedule_id == quicker.schedule_id
    assert slower.steps == quicker.steps
    assert len(ledger_of(settings).schedules(NAME)) == 1


def test_two_plans_at_once__calibrate_and_register_that_once(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    clock, cluster = clock_of(settings), cluster_of(topology_config(NAME, settings), settings, clock_of(settings))
    cluster.state()
    clock.wait(600)
    record_certain_forecast(
        settings,
        NAME,
        np.full(96, HIGH),
        step_s=900,
        horizon_s=3600,
        issued_at=FIRST,
        trained_from=MONDAY - BEFORE,
    )
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: plan(Workspace(settings), NAME), range(2))
    assert one.schedule_id == other.schedule_id
    versions = mlflow.MlflowClient(settings.tracking_uri).search_model_versions(f"name = 'calibration-{NAME}'")
    assert len(versions) == 1
