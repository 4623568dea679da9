"""Removes old, unused data once a week. Turn it on once `forescale prune --dry-run` lists only what may go."""

from airflow.sdk import Param, dag, task


@dag(
    dag_id="prune",
    schedule="30 3 * * 0",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # what it removes cannot be restored
    params={
        "older_than_days": Param(90, type="number", minimum=1, description="Whatever is newer stays."),
        "keep": Param(300, type="integer", minimum=1, description="Newest of each kind that stay."),
    },
    tags=["forescale"],
    doc_md=__doc__,
)
def prune_dag():
    # No retries: next week's run goes on where this one ended.
    @task
    def prune(params):
        from forescale.jobs.prune import prune_by_age
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        return prune_by_age(Workspace(Settings()), params["older_than_days"], params["keep"])

    prune()


prune_dag()
