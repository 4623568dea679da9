"""The time of Spark's own engine for the job, tuned: `spark_sql.py JOB RUNS OUT FOLDER`. Prints as rivals.py does.

Tuned are: the parallel collector, four shuffle partitions, whole-number division in place of window(), sources as
32-bit hashes and a fast hash map large enough for all groups (both more than twice as fast as grouping by text), and a
shuffle by id before grouping (also grouping before the shuffle is slower, since hardly any id repeats). `to python`
only passes the rows to Python with mapInArrow, where they are counted.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows

from forecasting.arrivals.spark_session import spark_session

FAST_MAP = {"spark.sql.codegen.aggregate.fastHashMap.capacityBit": "20"}
MINUTE = "{} div 60000000"


def query(spark: SparkSession, job: str, folder: str) -> DataFrame:
    events = spark.read.parquet(folder)
    if job == "to python":
        rows = events.select("source", F.unix_micros("event_time").alias("us"), "event_id")
        return rows.mapInArrow(counted_in_python, "n long")
    source, time_us = F.hash("source").alias("source"), F.unix_micros("event_time").alias("us")
    if job == "plain":
        rows = events.select(source, F.expr(MINUTE.format("unix_micros(event_time)")).alias("minute"))
    else:
        by_id = events.select(source, "event_id", time_us).repartition(4, "event_id")
        once = by_id.groupBy("source", "event_id").agg(F.min("us").alias("us"))
        rows = once.select("source", F.expr(MINUTE.format("us")).alias("minute"))
    return rows.groupBy("source", "minute").agg(F.count(F.lit(1)).alias("n"))


def counted_in_python(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in rows)]})


def main() -> None:
    job, runs, out, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    with spark_session("local[2]", "benchmark", driver_memory="4g", settings=FAST_MAP) as spark:
        for _ in range(runs):
            began = time.perf_counter()
            query(spark, job, folder).write.mode("overwrite").parquet(out)
            seconds = time.perf_counter() - began
            counted = spark.read.parquet(out).agg(F.sum("n")).first()
            assert counted is not None
            print(json.dumps({"seconds": seconds, "counted": counted[0]}), flush=True)


if __name__ == "__main__":
    main()
