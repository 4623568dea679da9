"""Many orders at once over Spark: a source a group, so that what a worker holds does not grow with their number.

Workers read and write the folders of the orders, which have to lie where every worker sees them.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecasting.fleet import Order, Outcome, fulfilled
from forecasting.forecast_file import forecast_json, forecast_of_json

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Row, SparkSession

log = logging.getLogger(__name__)

TASKS_PER_CORE = 4
"""Sources cost unequally; more tasks than cores even it out."""
ONE_THREAD = {f"spark.executorEnv.{name}": "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
"""Settings of a session for this: as many workers as cores, each with one thread."""

_SCHEMA = "number int, forecast string, failure string, digest string, cpu_s double"


def forecast_over_spark(spark: "SparkSession", orders: Sequence[Order]) -> Iterator[Outcome]:
    """The outcomes in the order of the orders. What fails is one source, also where its worker dies."""
    import pandas as pd
    from pyspark.sql import Row

    counts = [np.ascontiguousarray(order.counts, dtype="<f8").tobytes() for order in orders]

    def carried_out(numbers: Sequence[int]) -> list["Row"]:
        """One job for all of them. Where it fails, since a worker died, each half is tried by itself."""
        numbered = pd.DataFrame({"number": np.asarray(numbers, np.int32), "counts": [counts[at] for at in numbers]})
        given = spark.createDataFrame(numbered)
        tasks = min(len(numbers), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
        # A number of partitions that is told is kept; by itself Spark would put so little data into one.
        each = _each({at: replace(orders[at], counts=np.empty(0)) for at in numbers})
        job = given.repartition(tasks, "number").groupBy("number").applyInPandas(each, _SCHEMA)
        try:
            return list(job.collect())
        except Exception as error:
            log.warning("forecasting %d sources over Spark failed", len(numbers), exc_info=error)
            if len(numbers) == 1:
                lost = f"its Spark worker died or gave no answer ({type(error).__name__}); see its log, or its memory"
                return [Row(number=numbers[0], forecast="", failure=lost, digest="", cpu_s=0.0)]
        middle = len(numbers) // 2
        return carried_out(numbers[:middle]) + carried_out(numbers[middle:])

    done = carried_out(range(len(orders))) if orders else []
    for row in sorted(done, key=lambda row: row["number"]):
        order = orders[row["number"]]
        forecast = forecast_of_json(row["forecast"]) if row["forecast"] else None
        yield Outcome(order.source, forecast, row["failure"], row["digest"], order.train, row["cpu_s"])


def _each(orders: Mapping[int, Order]) -> Callable[["pd.DataFrame"], "pd.DataFrame"]:
    """What a worker does with a group: the order of its number, with the counts in its row."""

    def each(group: "pd.DataFrame") -> "pd.DataFrame":
        import pandas as pd

        number = int(group["number"].iloc[0])
        counts = np.frombuffer(group["counts"].iloc[0], dtype="<f8")
        outcome = fulfilled(replace(orders[number], counts=counts))
        said = "" if outcome.forecast is None else forecast_json(outcome.forecast)
        row = (number, said, outcome.failure, outcome.digest, outcome.cpu_s)
        return pd.DataFrame([row], columns=["number", "forecast", "failure", "digest", "cpu_s"])

    return each
