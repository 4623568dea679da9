"""Runs many forecast tasks in parallel on Spark. Workers read and write the tasks' folders."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from forecasting.fleet import ForecastResult, ForecastTask, run_task
from forecasting.spark_tasks import LostTask, over_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def forecast_over_spark(spark: "SparkSession", orders: Sequence[ForecastTask]) -> Iterator[ForecastResult]:
    """The results in the order of the tasks. A failure concerns one source, even if its worker dies."""
    for order, outcome in zip(orders, over_spark(spark, run_task, orders), strict=True):
        if isinstance(outcome, LostTask):
            yield ForecastResult(order.source, None, outcome.cause, "", order.train, 0.0)
        else:
            yield outcome
