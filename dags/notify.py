"""Sends messages about whatever needs attention, every five minutes. Turn it on once FORESCALE_NOTIFY_URLS is set."""

from airflow.sdk import dag, task


@dag(
    dag_id="notify",
    schedule="*/5 * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,  # useless until FORESCALE_NOTIFY_URLS is set
    tags=["forescale"],
    doc_md=__doc__,
)
def notify_dag():
    # A DAG of its own: as the last task of another DAG it would hide an earlier task's failure from Airflow, and a run
    # that waits for its review would send its message only afterwards. No retries: the next run tries again.
    @task
    def notify():
        from dataclasses import asdict

        from forescale.cli.expected import EXPECTED
        from forescale.files.topology import topology_files
        from forescale.monitoring.notify import notify as notified
        from forescale.settings import Settings
        from forescale.situation.workspace import Workspace

        workspace = Workspace(Settings())
        names = [path.stem for path in topology_files(workspace.settings.topologies)]
        done = notified(workspace, names, EXPECTED)
        for name, why in done.unread.items():
            print(f"topology {name}: {why}")
        return asdict(done)

    notify()


notify_dag()
