"""Send messages about new incidents every five minutes. Turn it on once FORESCALE_NOTIFY_URLS is set."""

from airflow.sdk import dag, task


@dag(
    dag_id="notify",
    schedule="*/5 * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # without a service to send to there is nothing to do
    tags=["forescale"],
    doc_md=__doc__,
)
def notify_dag():
    # A DAG of its own: as the last task of another DAG it would hide from Airflow that an earlier task failed, and
    # a run waiting for its review would send nothing until it is over. No retries: the next run sends what is left.
    @task
    def notify():
        from dataclasses import asdict

        from forescale.cli.expected import EXPECTED
        from forescale.files.topology import topology_files
        from forescale.monitoring.notify import notify as notified
        from forescale.settings import Settings

        settings = Settings()
        names = [path.stem for path in topology_files(settings.topologies)]
        done = notified(settings, names, EXPECTED)
        for name, why in done.unread.items():
            print(f"topology {name}: {why}")
        return asdict(done)

    notify()


notify_dag()
