"""One step: wait for its deploy time, deploy, verify, undo on failure. Started by `plan` or by hand."""

from airflow.sdk import dag, task

from forescale.orchestration.deploy_operator import DeployStep, WaitForClock
from forescale.orchestration.deploy_request import FORM
from forescale.orchestration.hand_off import PATIENT, RETRIES


@dag(
    dag_id="deploy",
    schedule=None,
    max_active_runs=256,  # nearly all of them only wait, which takes no worker
    params=FORM,
    default_args=RETRIES,
    tags=["forescale"],
    doc_md=__doc__,
)
def deploy_dag():
    @task
    def step(params, dag_run):
        from airflow.sdk.exceptions import AirflowFailException

        from forescale.codec import handed_over
        from forescale.orchestration.deploy_request import requested_step
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace
        from planner.errors import LedgerError

        by = dag_run.triggering_user_name or "airflow"
        try:
            return handed_over(requested_step(Workspace(Settings()), params, run_id=dag_run.run_id, by=by))
        except (ValueError, LedgerError) as refusal:  # a retry would be refused again
            raise AirflowFailException(str(refusal)) from refusal

    which = step()
    WaitForClock(task_id="wait", step=which) >> DeployStep(task_id="deploy", step=which, **PATIENT)


deploy_dag()
