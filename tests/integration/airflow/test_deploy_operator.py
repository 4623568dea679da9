"""How the task that deploys a step waits while the step is withheld."""

import asyncio
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from guard_bench import plan_of
from guarded_pair import begin_pair

from forescale.codec import handed_over, taken_over
from forescale.jobs.guard import guard as guard_once
from forescale.jobs.locks import deployment_lock
from forescale.jobs.requested_deployment import request_deployment
from forescale.jobs.step_to_deploy import StepToDeploy
from forescale.orchestration.deploy_operator import DeployStep
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.deployment import Deployment
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep

pytestmark = pytest.mark.airflow


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (("HOME", tmp_path / "home"), ("TOPOLOGIES", tmp_path), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    monkeypatch.chdir(tmp_path)
    made = Settings()
    begin_pair(made)
    return made


@pytest.fixture
def withheld(settings: Settings) -> StepToDeploy:
    """To two instances, good for an hour, while 30/s come to five and two carry 20/s."""
    clock, ledger = clock_of(settings), ledger_of(settings)
    cluster_of(topology_config("pair", settings), settings, clock).state()
    for _ in range(12):
        clock.wait(60)
        guard_once(Workspace(settings), "pair")
    now, runs = clock.now(), plan_of(5)
    end = now + timedelta(hours=1)
    step = ScheduledStep(
        now, now, now, end, plan_of(2), runs, {"read": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, 1.0, "planned"
    )
    whole = ScalingSchedule("pair", now, now, end, 0.95, runs, (step,), 1.0, "planned")
    schedule_id = ledger.record_schedule(whole)
    ledger.approve_schedule(schedule_id, at=now, by="anna", why="as planned")
    return StepToDeploy(f"{schedule_id}-1", now)


def test_deployment__of_a_withheld_step_waits_without_a_worker_and_without_failing(
    settings: Settings, withheld: StepToDeploy
) -> None:
    from airflow.sdk.exceptions import TaskDeferred

    task, clock = DeployStep(task_id="deploy", step=handed_over(withheld)), clock_of(settings)
    for _ in range(12):  # longer than all retries of the task
        with pytest.raises(TaskDeferred) as deferred:
            task.look_again({})
        path, arguments = deferred.value.trigger.serialize()
        module, name = path.rsplit(".", 1)
        trigger = getattr(import_module(module), name)(**arguments)
        assert (trigger.remaining_s(), deferred.value.method_name) == (60, "look_again")
        clock.wait(60)
        guard_once(Workspace(settings), "pair")
        event = asyncio.run(anext(trigger.run()))
        assert event.payload == trigger.moment  # which resumes the task, where success would end it
    assert ledger_of(settings).step(withheld.step_id).state is StepState.WITHHELD
    clock.wait(240)  # nobody looks any more, and nothing is withheld
    assert taken_over(Deployment, task.look_again({}, event.payload)).state is StepState.VERIFIED


def test_deployment__of_a_step_that_another_process_deploys_waits_until_that_has_ended(settings: Settings) -> None:
    from airflow.sdk.exceptions import TaskDeferred

    cluster_of(topology_config("pair", settings), settings, clock_of(settings)).state()
    step = request_deployment(
        Workspace(settings), "pair", parallelism={"work": 5}, deploy_at=None, by="anna", request_id="r1"
    )
    task = DeployStep(task_id="deploy", step=handed_over(step))
    with deployment_lock(Workspace(settings), step.step_id), pytest.raises(TaskDeferred) as deferred:
        task.look_again({})
    assert deferred.value.method_name == "look_again"
    assert taken_over(Deployment, task.look_again({})).state is StepState.VERIFIED


def test_deployment__of_a_withheld_step_is_skipped_as_its_time_goes_by(
    settings: Settings, withheld: StepToDeploy
) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    ledger, task = ledger_of(settings), DeployStep(task_id="deploy", step=handed_over(withheld))
    clock_of(settings).advance_to(ledger.step(withheld.step_id).expires_at)  # type: ignore[attr-defined]
    with pytest.raises(AirflowSkipException, match=r"is expired: it is .*, and the step was only good until"):
        task.look_again({})
