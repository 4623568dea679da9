"""Tasks that know nothing of each other, over Spark: one a group, so that what a worker holds does not grow with their
number.

What tasks read and write has to lie where every worker sees it.
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
"""Tasks cost unequally; more partitions than cores even it out."""
MAX_PER_JOB = 1000
"""The driver and its JVM hold the packed tasks of one job at a time. Four weeks of 5-minute windows are 65 KB a task,
so that ten thousand at once would not fit into the heap of 1 GB."""
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
"""Settings of a session for this: as many workers as cores, each with one thread and a heap that it keeps."""

_SCHEMA = "number int, result binary"

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Lost:
    """Why a task has no result, in one line."""

    cause: str


def over_spark(spark: "SparkSession", work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result | Lost]:
    """The results in the order of the tasks. Tasks, results and work can be pickled; a task is lost whose worker dies,
    or for which work raises.
    """
    import pandas as pd
    from pyspark import cloudpickle

    found: dict[int, Result | Lost] = {}

    def carry_out(numbers: Sequence[int]) -> None:
        """One job for these. Where it fails, since a worker died, each half is tried by itself."""
        numbered = pd.DataFrame(
            {"number": np.asarray(numbers, np.int32), "task": [cloudpickle.dumps(tasks[at]) for at in numbers]}
        )
        partitions = min(len(numbers), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
        # A number of partitions that is told is kept; by itself Spark would put so little data into one.
        given = spark.createDataFrame(numbered).repartition(partitions, "number")
        try:
            rows = given.groupBy("number").applyInPandas(_each(work), _SCHEMA).collect()
        except Exception as error:
            log.warning("%d tasks over Spark failed", len(numbers), exc_info=error)
            if len(numbers) == 1:
                cause = f"its Spark worker died or gave no answer ({type(error).__name__}); see its log, or its memory"
                found[numbers[0]] = Lost(cause)
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
    """What a worker does with a group, which is a single row."""

    def each(group: "pd.DataFrame") -> "pd.DataFrame":
        import pandas as pd

        result = work(_unpacked(group["task"].iloc[0]))
        return pd.DataFrame({"number": group["number"], "result": [pickle.dumps(result)]})

    return each


def _unpacked(packed: bytes) -> Any:
    """What this session has packed itself, here or in a worker."""
    return pickle.loads(packed)  # noqa: S301
