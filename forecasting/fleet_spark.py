"""Many orders at once over Spark. Workers read and write the folders of the orders."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from forecasting.fleet import Order, Outcome, fulfilled
from forecasting.spark_tasks import Lost, over_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def forecast_over_spark(spark: "SparkSession", orders: Sequence[Order]) -> Iterator[Outcome]:
    """The outcomes in the order of the orders. What fails is one source, also where its worker dies."""
    for order, outcome in zip(orders, over_spark(spark, fulfilled, orders), strict=True):
        if isinstance(outcome, Lost):
            yield Outcome(order.source, None, outcome.cause, "", order.train, 0.0)
        else:
            yield outcome
