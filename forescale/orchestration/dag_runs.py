"""A run of a DAG, created from within a task of another."""

from collections.abc import Mapping


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
