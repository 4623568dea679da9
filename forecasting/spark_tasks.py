"""Runs independent tasks on Spark, one per group, so that a worker's memory does not grow with their number.

Files that tasks read and write must be visible to every worker.
"""

import logging
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

TASKS_PER_CORE = 4
"""Tasks differ in cost; more partitions than cores balance the load."""
MAX_PER_JOB = 1000
"""The driver and its JVM hold the pickled tasks of one job at a time. Four weeks of 5-minute windows are 65 KB a task,
so ten thousand at once would not fit into a heap of 1 GB."""
WORKER_SETTINGS = {
    f"spark.executorEnv.{name}": value
    for name, value in {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # The C library returns arrays of a megabyte to the system at each free, and faulting them in again takes a
        # fifth of a forecast.
        "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    }.items()
}
"""Session settings: as many workers as cores, each with one thread and a heap that it keeps."""

_SCHEMA = "number int, result binary"

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class LostTask:
    """Why a task has no result, in one line."""

    cause: str


def over_spark(spark: "SparkSession", work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result | LostTask]:
    """The results in the order of the tasks. Tasks, results and work must be picklable; a task is lost if its worker
    dies or work raises.
    """
    import pandas as pd
    from pyspark import cloudpickle

    found: dict[int, Result | LostTask] = {}

    def carry_out(numbers: Sequence[int]) -> None:
        """Run one job for these. If it fails because a worker died, each half is tried separately."""
        numbered = pd.DataFrame(
            {"number": np.asarray(numbers, np.int32), "task": [cloudpickle.dumps(tasks[at]) for at in numbers]}
        )
        partitions = min(len(numbers), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
        # State the number of partitions: Spark would put so little data into one.
        given = spark.createDataFrame(numbered).repartition(partitions, "number")
        try:
            rows = given.groupBy("number").applyInPandas(_each(work), _SCHEMA).collect()
        except Exception as error:
            log.warning("%d tasks over Spark failed", len(numbers), exc_info=error)
            if len(numbers) == 1:
                cause = f"its Spark worker died or gave no answer ({type(error).__name__}); see its log, or its memory"
                found[numbers[0]] = LostTask(cause)
                return
        else:
            found.update({row["number"]: _unpacked(row["result"]) for row in rows})
            return
        middle = len(numbers) // 2
        carry_out(numbers[:middle])
        carry_out(numbers[middle:])

    for first in range(0, len(tasks), MAX_PER_JOB):
        carry_out(range(first, min(first + MAX_PER_JOB, len(tasks))))
    return [found[number] for number in range(len(tasks))]


def _each(work: Callable[[Task], Result]) -> Callable[["pd.DataFrame"], "pd.DataFrame"]:
    """The function that a worker applies to a group, which is a single row."""

    def each(group: "pd.DataFrame") -> "pd.DataFrame":
        import pandas as pd

        result = work(_unpacked(group["task"].iloc[0]))
        return pd.DataFrame({"number": group["number"], "result": [pickle.dumps(result)]})

    return each


def _unpacked(packed: bytes) -> Any:
    """Unpickles only data that this session pickled itself, here or in a worker."""
    return pickle.loads(packed)  # noqa: S301
