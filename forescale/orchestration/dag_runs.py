"""Runs of a DAG, created from within a task of another: one of `deploy` for each step to deploy."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forescale.jobs.step_to_deploy import StepToDeploy


def create_run(dag_id: str, run_id: str, conf: Mapping[str, str]) -> str:
    """Returns the id of the run; an existing run is left as it is.

    TriggerDagRunOperator creates one run per task, and Airflow cannot map a task within a mapped group; so this sends
    the same message to the supervisor as that operator.
    Must run inside an Airflow task. Raises RuntimeError if Airflow refuses the run.
    """
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import ErrorResponse, TriggerDagRun

    answer = task_runner.SUPERVISOR_COMMS.send(TriggerDagRun(dag_id=dag_id, run_id=run_id, conf=dict(conf)))
    if isinstance(answer, ErrorResponse) and answer.error != ErrorType.DAGRUN_ALREADY_EXISTS:
        raise RuntimeError(f"Airflow refuses run {run_id} of the DAG {dag_id}: {answer.error.value} {answer.detail}")
    return run_id


def run_id_of(step_id: str) -> str:
    """A fixed id per step, which makes a second run for the same step impossible."""
    return f"plan-{step_id}"


def create_deploy_runs(steps: "Iterable[StepToDeploy]") -> list[str]:
    """Ids of the runs, one per step; an existing run is left as it is. Must run inside an Airflow task. Raises
    RuntimeError if Airflow refuses a run.
    """
    return [create_run("deploy", run_id_of(step.step_id), {"step_id": step.step_id}) for step in steps]
