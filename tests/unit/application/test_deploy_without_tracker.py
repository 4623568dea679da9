"""A deployment waits for no tracking server."""

import socket
from pathlib import Path

import pytest
from machine import waits
from shadow_days import FIRST, NAME, install

from forescale.jobs.deploy import deploy_due
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep


def record_due_step(settings: Settings) -> None:
    """From 8 to 7 instances, due at once and approved."""
    workspace = Workspace(settings)
    workspace.cluster(workspace.config(NAME)).state()
    before, after = PhysicalPlan(NAME, {"read": 1, "count": 8}), PhysicalPlan(NAME, {"read": 1, "count": 7})
    end = FIRST.replace(hour=23)
    step = ScheduledStep(FIRST, FIRST, FIRST, end, after, before, {"read": 10.0}, "count", 0.2, 5.0, 30.0, 0.0, 9.0, "")
    made = ScalingSchedule(NAME, FIRST, FIRST, end, 0.95, before, (step,), 9.0, "")
    schedule_id = workspace.ledger.record_schedule(made)
    workspace.ledger.approve_schedule(schedule_id, at=FIRST, by="anna", why="")


def test_due_steps__are_deployed_without_a_word_to_the_tracking_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        settings = install(tmp_path, "act").model_copy(update={"mlflow_uri": uri})
        record_due_step(settings)
        with waits(5):
            done = deploy_due(Workspace(settings), NAME)
        assert [deployment.state for deployment in done.deployed] == [StepState.VERIFIED]
        with pytest.raises(BlockingIOError):  # nobody connected
            server.accept()
