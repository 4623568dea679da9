"""Many orders at once over Spark: a source a group, so that what a worker holds does not grow with their number.

Workers read and write the folders of the orders, which have to lie where every worker sees them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecasting.fleet import Order, Outcome, fulfilled
from forecasting.forecast_file import forecast_json, forecast_of_json

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 4
"""Sources cost unequally; more tasks than cores even it out."""
ONE_THREAD = {f"spark.executorEnv.{name}": "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
"""Settings of a session for this: as many workers as cores, each with one thread."""

_SCHEMA = "number int, forecast string, failure string, digest string, cpu_s double"


def forecast_over_spark(spark: "SparkSession", orders: Sequence[Order]) -> Iterator[Outcome]:
    """The outcomes in the order of the orders. What fails is one source; a worker that dies is tried again by Spark."""
    import pandas as pd

    without_counts = [replace(order, counts=np.empty(0)) for order in orders]

    def each(group: "pd.DataFrame") -> "pd.DataFrame":
        number = int(group["number"].iloc[0])
        counts = np.frombuffer(group["counts"].iloc[0], dtype="<f8")
        outcome = fulfilled(replace(without_counts[number], counts=counts))
        said = "" if outcome.forecast is None else forecast_json(outcome.forecast)
        row = (number, said, outcome.failure, outcome.digest, outcome.cpu_s)
        return pd.DataFrame([row], columns=["number", "forecast", "failure", "digest", "cpu_s"])

    if not orders:
        return
    counts = [np.ascontiguousarray(order.counts, dtype="<f8").tobytes() for order in orders]
    given = spark.createDataFrame(pd.DataFrame({"number": np.arange(len(orders), dtype=np.int32), "counts": counts}))
    tasks = min(len(orders), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    # A number of partitions that is told is kept; by itself Spark would put so little data into one.
    done = given.repartition(tasks, "number").groupBy("number").applyInPandas(each, _SCHEMA).collect()
    for row in sorted(done, key=lambda row: row["number"]):
        order = orders[row["number"]]
        forecast = forecast_of_json(row["forecast"]) if row["forecast"] else None
        yield Outcome(order.source, forecast, row["failure"], row["digest"], order.train, row["cpu_s"])
