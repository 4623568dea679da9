"""forescale's side of the benchmark: `ours.py JOB RUNS OUT FOLDER DAYS`. Prints a JSON line per run, as rivals.py does.

It goes from raw events to committed history, like `forescale history build`, in one Spark session. `scan` only reads
the columns, as the counting tasks do, with two processes.
"""

import json
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.counting.parquet_rows import RowGroup, batches, row_groups
from forecasting.arrivals.pipeline import build_history
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.arrivals.spark_session import spark_session

START = datetime(2026, 3, 2, tzinfo=UTC)
COLUMNS = {
    "scan": EventColumns("event_time", source="source"),
    "scan with id": EventColumns("event_time", source="source", id="event_id"),
    "plain": EventColumns("event_time", source="source"),
    "distinct": EventColumns("event_time", source="source", id="event_id"),
    "keys": EventColumns("event_time", source="source", key="key"),
}


def scanned(groups: list[RowGroup], files: EventFiles) -> int:
    pa.set_cpu_count(1)
    return sum(batch.time_us.size for batch in batches(groups, files))


def main() -> None:
    job, runs, out, folder, days = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    files = EventFiles(folder, COLUMNS[job])
    end = START + timedelta(days=days)
    if job.startswith("scan"):
        groups = row_groups(
            [path.as_uri() for path in sorted(Path(folder).glob("date=*/*.parquet"))][: 2 * days], files
        )
        assert groups is not None
        with ProcessPoolExecutor(2) as pool:
            for _ in range(runs):
                began = time.perf_counter()
                sum(pool.map(scanned, [[group] for group in groups], [files] * len(groups)))
                print(json.dumps({"seconds": time.perf_counter() - began, "counted": 0}), flush=True)
        return
    with spark_session("local[2]", "benchmark") as spark:
        for _ in range(runs):
            shutil.rmtree(out, ignore_errors=True)
            began = time.perf_counter()
            source = CountedEvents(spark, files, end)
            summary = build_history(source, topology="calls", window_s=60, start=START, end=end, out_dir=out)
            seconds = time.perf_counter() - began
            print(json.dumps({"seconds": seconds, "counted": summary.quality.total.kept}), flush=True)


if __name__ == "__main__":
    main()
