"""One step: wait for its deploy time, deploy, verify, and undo what does not hold. Started by `plan`, or by hand."""

from airflow.sdk import dag, task

from forescale.orchestration.deploy_request import FORM
from forescale.orchestration.hand_off import PATIENT, RETRIES
from forescale.orchestration.wait_operator import WaitForClock


@dag(
    dag_id="deploy",
    schedule=None,
    max_active_runs=256,  # nearly all of them wait, without a worker
    params=FORM,
    default_args=RETRIES,
    tags=["forescale"],
    doc_md=__doc__,
)
def deploy_dag():
    @task
    def step(params, dag_run):
        from airflow.sdk.exceptions import AirflowFailException

        from forescale.orchestration.deploy_request import requested_step
        from planner.errors import LedgerError

        try:
            return requested_step(params, run_id=dag_run.run_id, by=dag_run.triggering_user_name or "airflow")
        except (ValueError, LedgerError) as refusal:  # asking for the same again would not help
            raise AirflowFailException(str(refusal)) from refusal

    @task(**PATIENT)
    def deploy(step):
        from forescale.orchestration.deploy_outcome import shown_outcome

        return shown_outcome(step["step_id"])

    which = step()
    WaitForClock(task_id="wait", step=which) >> deploy(which)


deploy_dag()
