"""Whoever tracks a schedule next writes how its steps ended to the runs of their forecasts."""

from pathlib import Path

import pytest
from ledger_decisions import brought_to, forecast_of, schedule_of

from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.store_access import connected_client
from forescale.jobs.report import track_schedule
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.ledger.step_state import StepState

pytestmark = [
    pytest.mark.mlflow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore:.*type hint"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning:mlflow"),
]


def test_ended_steps_of_the_newest_schedules__are_tagged_and_waiting_ones_are_not(
    tracker: MlflowTracker, tmp_path: Path
) -> None:
    client = connected_client(tracker.tracking_uri)
    run_id = client.create_run(tracker.experiment_id("calls")).info.run_id
    workspace = Workspace(Settings(home=tmp_path / "home", mlruns=tmp_path, mlflow_uri=tracker.tracking_uri))
    ledger = workspace.ledger
    ledger.record_forecast(forecast_of(run_id))
    schedule_id = ledger.record_schedule(schedule_of(3, 2), forecasts=[run_id])
    brought_to(ledger, f"{schedule_id}-1", StepState.VERIFIED)
    (report := tmp_path / "report.html").write_text("<p>kept</p>")
    track_schedule(workspace, {}, ledger.schedule(schedule_id), report)
    tags = client.get_run(run_id).data.tags
    assert {name: value for name, value in tags.items() if name.startswith("outcome")} == {
        "outcome 1": "verified: as planned"
    }
