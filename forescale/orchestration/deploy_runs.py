"""One run of the DAG `deploy` for each step that is to be deployed, created from within a task."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forescale.orchestration.dag_runs import create_run

if TYPE_CHECKING:
    from forescale.jobs.deploy import StepToDeploy


def run_id_of(step_id: str) -> str:
    """The id that makes it impossible to create two runs for one step."""
    return f"plan-{step_id}"


def create_deploy_runs(steps: "Iterable[StepToDeploy]") -> list[str]:
    """Ids of the runs, one a step; a run that exists already is left as it is. Must run inside an Airflow task. Raises
    RuntimeError where Airflow refuses a run.
    """
    return [create_run("deploy", run_id_of(step.step_id), {"step_id": step.step_id}) for step in steps]
