"""Creates the Spark session that distributes tasks over workers."""

from typing import TYPE_CHECKING

from forescale.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def task_session(settings: Settings, app: str) -> "SparkSession":
    """A session with one thread per worker; `with` stops it at the end. Raises HistoryError if it does not start."""
    from forecasting.arrivals.spark_session import spark_session
    from forecasting.spark_tasks import WORKER_SETTINGS

    return spark_session(
        settings.spark_master,
        app,
        driver_memory=settings.spark_memory,
        settings=WORKER_SETTINGS | settings.spark_settings,
    )
