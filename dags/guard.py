"""The guard looks at every guarded topology each minute, and acts where it is allowed to. Turn it on to have it."""

from airflow.sdk import dag, task

from forescale.orchestration.hand_off import ONE_TOPOLOGY


@dag(
    dag_id="guard",
    schedule="* * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # whoever wants a safety net turns it on, and has a run a minute
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

        settings = Settings()
        return guarded_topologies(settings, topologies_to_do(params["topology"], {}, settings.topologies))

    # Not tried again: what waits between two turns is in the ledger, and the next one takes it up. No worker waits.
    @task(map_index_template="{{ task.op_kwargs['topology'] }}")
    def guard(topology):
        from forescale.codec import handed_over
        from forescale.jobs.guard import guard as turn
        from forescale.settings import Settings

        return handed_over(turn(Settings(), topology))

    guard.expand(topology=topologies())


guard_dag()
