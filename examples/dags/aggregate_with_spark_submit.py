"""The DAG `aggregate`, counting with spark-submit on the cluster of Airflow's connection `spark_default`.

Put it into Airflow's DAG folder in place of `aggregate`. It needs the extra `airflow-spark`, and spark-submit on the
PATH of Airflow's workers. docs/history.md lists what the executors need.
"""

import os
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import dag, task

import forescale.submitted
from forescale.orchestration.hand_off import ARRIVAL_HISTORY, ONE_TOPOLOGY, RETRIES

CRON = os.environ.get("FORESCALE_SCHEDULE", "5 * * * *")  # minutes past the hour, for late events; "none": by hand
BUILD_HISTORY = Path(forescale.submitted.__file__).with_name("build_history.py")


def hand_on(context, result=None):
    """Tell the next DAG which topology's history is new."""
    (topology,) = context["task"].application_args
    context["outlet_events"][ARRIVAL_HISTORY].extra = {"topology": topology}


@dag(
    schedule=None if CRON == "none" else CRON,
    catchup=False,
    max_active_runs=1,
    params={"topology": ONE_TOPOLOGY},
    default_args=RETRIES,
    tags=["forescale"],
    doc_md=__doc__,
)
def aggregate_with_spark_submit():
    @task
    def topologies(params):
        from forescale.orchestration.hand_off import topologies_to_do
        from forescale.settings import Settings

        return [[topology] for topology in topologies_to_do(params["topology"], {}, Settings().topologies)]

    # Each driver takes about 650 MB on Airflow's worker; the executors run on the cluster.
    SparkSubmitOperator.partial(
        task_id="aggregate",
        pool="spark",
        application=str(BUILD_HISTORY),
        name="forescale aggregate",
        post_execute=hand_on,
        outlets=[ARRIVAL_HISTORY],
    ).expand(application_args=topologies())


aggregate_with_spark_submit()
