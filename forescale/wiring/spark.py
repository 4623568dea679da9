"""Creates the Spark session that distributes tasks over workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from forescale.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def task_session(settings: Settings, app: str) -> Iterator["SparkSession"]:
    """A session with one thread per worker, stopped at the end. Raises HistoryError if it does not start, or ends
    meanwhile.
    """
    from forecasting.arrivals.spark_session import running, spark_session
    from forecasting.spark_tasks import WORKER_SETTINGS

    session = spark_session(
        settings.spark_master,
        app,
        driver_memory=settings.spark_memory,
        settings=WORKER_SETTINGS | settings.spark_settings,
    )
    with running(session) as spark:
        yield spark
