"""Raw events → arrival history, once an hour. A new history starts `forecast`."""

from airflow.sdk import dag, task, task_group

from forescale.orchestration.hand_off import (
    ARRIVAL_HISTORY,
    ONE_TOPOLOGY,
    RETRIES,
    fail_the_run,
    plan_anyway,
    topologies,
)
from forescale.settings import Settings

CRON = Settings().schedule  # a few minutes past the hour, for late events; "none": by hand


@dag(
    dag_id="aggregate",
    schedule=None if CRON == "none" else CRON,
    catchup=False,
    max_active_runs=1,
    params={"topology": ONE_TOPOLOGY},
    default_args=RETRIES,
    tags=["forescale"],
    doc_md=__doc__,
)
def aggregate_dag():
    @task_group
    def each(topology):
        # One at a time: each Spark session takes about 650 MB.
        @task(pool="spark", outlets=[ARRIVAL_HISTORY], map_index_template="{{ task.op_kwargs['topology'] }}")
        def aggregate(topology, outlet_events):
            from forescale.codec import handed_over
            from forescale.jobs.aggregate import aggregate as aggregated
            from forescale.situation.workspace import Workspace

            history = handed_over(aggregated(Workspace(Settings()), topology))
            outlet_events[ARRIVAL_HISTORY].extra = history
            return history

        done = aggregate(topology=topology)
        done >> plan_anyway(topology=topology)
        return done

    each.expand(topology=topologies()) >> fail_the_run()


aggregate_dag()
