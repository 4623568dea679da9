"""Records what topologies in shadow mode run, every five minutes. Turn it on if there is such a topology."""

from airflow.sdk import dag, task

from forescale.orchestration.hand_off import ONE_TOPOLOGY


@dag(
    dag_id="shadow",
    schedule="*/5 * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # few topologies are in shadow mode
    params={"topology": ONE_TOPOLOGY},
    tags=["forescale"],
    doc_md=__doc__,
)
def shadow_dag():
    @task
    def topologies(params):
        from forescale.jobs.observe import shadow_topologies
        from forescale.orchestration.hand_off import topologies_to_do
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        workspace = Workspace(Settings())
        return shadow_topologies(workspace, topologies_to_do(params["topology"], {}, workspace.settings.topologies))

    # No retries: the next observation is as good.
    @task(map_index_template="{{ task.op_kwargs['topology'] }}")
    def observe(topology):
        from forescale.codec import handed_over
        from forescale.jobs.observe import observe as observed
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        return handed_over(observed(Workspace(Settings()), topology))

    observe.expand(topology=topologies())


shadow_dag()
