"""The guard checks every guarded topology each minute and acts where it may. Paused until you turn it on."""

from airflow.sdk import dag, task

from forescale.orchestration.hand_off import ONE_TOPOLOGY


@dag(
    dag_id="guard",
    schedule="* * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # a run a minute is only for those who want a safety net
    params={"topology": ONE_TOPOLOGY},
    tags=["forescale"],
    doc_md=__doc__,
)
def guard_dag():
    @task
    def topologies(params):
        from forescale.jobs.guard import guarded_topologies
        from forescale.orchestration.hand_off import topologies_to_do
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        workspace = Workspace(Settings())
        return guarded_topologies(workspace, topologies_to_do(params["topology"], {}, workspace.settings.topologies))

    # No retries: the ledger keeps what is pending, and the next minute's run takes it up. No worker waits.
    @task(map_index_template="{{ task.op_kwargs['topology'] }}")
    def guard(topology):
        from forescale.codec import handed_over
        from forescale.jobs.guard import guard as turn
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        return handed_over(turn(Workspace(Settings()), topology))

    guard.expand(topology=topologies())


guard_dag()
