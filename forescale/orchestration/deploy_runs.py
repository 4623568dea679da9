"""One run of the DAG `deploy` for each step to deploy, created from within a task."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forescale.orchestration.dag_runs import create_run

if TYPE_CHECKING:
    from forescale.jobs.step_to_deploy import StepToDeploy


def run_id_of(step_id: str) -> str:
    """A fixed id per step, which makes a second run for the same step impossible."""
    return f"plan-{step_id}"


def create_deploy_runs(steps: "Iterable[StepToDeploy]") -> list[str]:
    """Ids of the runs, one per step; an existing run is left as it is. Must run inside an Airflow task. Raises
    RuntimeError if Airflow refuses a run.
    """
    return [create_run("deploy", run_id_of(step.step_id), {"step_id": step.step_id}) for step in steps]
