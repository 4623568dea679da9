"""Reads sources that keep no history (Storm's UI) once a minute. Turn it on if a topology has such a source."""

from airflow.sdk import dag, task

from forescale.orchestration.hand_off import ONE_TOPOLOGY


@dag(
    dag_id="record",
    schedule="* * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # most installations have nothing to record, so a run a minute is wasted
    params={"topology": ONE_TOPOLOGY},
    tags=["forescale"],
    doc_md=__doc__,
)
def record_dag():
    @task
    def topologies(params):
        from forescale.jobs.record import steady_topologies
        from forescale.orchestration.hand_off import topologies_to_do
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        workspace = Workspace(Settings())
        return steady_topologies(workspace, topologies_to_do(params["topology"], {}, workspace.settings.topologies))

    # No retries: the next minute's reading is as good as a late one.
    @task(map_index_template="{{ task.op_kwargs['topology'] }}")
    def record(topology):
        from forescale.jobs.record import record as recorded
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        return recorded(Workspace(Settings()), topology).line

    record.expand(topology=topologies())


record_dag()
