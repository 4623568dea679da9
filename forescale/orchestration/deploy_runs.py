"""One run of the DAG `deploy` for each step that is to be deployed, created from within a task."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forescale.jobs.deploy import StepToDeploy


def run_id_of(step_id: str) -> str:
    """The id that makes it impossible to create two runs for one step."""
    return f"plan-{step_id}"


def create_deploy_runs(steps: "Iterable[StepToDeploy]") -> list[str]:
    """Ids of the runs, one a step; a run that exists already is left as it is.

    TriggerDagRunOperator creates one run a task, and Airflow cannot map a task within a mapped group; so this sends
    the same message to the supervisor as that operator does, once for each step.
    Must run inside an Airflow task. Raises RuntimeError where Airflow refuses a run.
    """
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import ErrorResponse, TriggerDagRun

    created = []
    for step in steps:
        run_id = run_id_of(step.step_id)
        conf = {"step_id": step.step_id}
        answer = task_runner.SUPERVISOR_COMMS.send(TriggerDagRun(dag_id="deploy", run_id=run_id, conf=conf))
        if isinstance(answer, ErrorResponse) and answer.error != ErrorType.DAGRUN_ALREADY_EXISTS:
            raise RuntimeError(f"Airflow refuses run {run_id} of the DAG deploy: {answer.error.value} {answer.detail}")
        created.append(run_id)
    return created
