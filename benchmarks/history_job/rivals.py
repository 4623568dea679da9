"""The rivals' side of the benchmark, run with their own interpreter: `rivals.py ENGINE JOB RUNS OUT FILE…`.

Prints a JSON line per run: seconds and the number of events counted. Both engines get two threads and the fastest of
the queries that were tried: DuckDB divides epoch_us by whole numbers (date_trunc is five times slower), Polars streams.
"""

import json
import sys
import time
from collections.abc import Callable

MINUTE_US = 60_000_000


def duckdb_job(job: str, files: list[str], out: str) -> Callable[[], int]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 2; SET TimeZone = 'UTC'")
    events = f"read_parquet({files!r})"
    minute = f"epoch_us({{}}) // {MINUTE_US}"
    if job == "scan":
        query = f"SELECT max(epoch_us(event_time)), max(source) FROM {events}"
    elif job == "scan with id":
        query = f"SELECT max(epoch_us(event_time)), max(source), max(event_id) FROM {events}"
    elif job == "plain":
        query = f"SELECT source, {minute.format('event_time')} AS minute, count(*) AS n FROM {events} GROUP BY ALL"
    else:
        once = f"SELECT source, min(event_time) AS first FROM {events} GROUP BY source, event_id"
        query = f"SELECT source, {minute.format('first')} AS minute, count(*) AS n FROM ({once}) GROUP BY ALL"

    def run() -> int:
        if job.startswith("scan"):
            connection.execute(query).fetchall()
            return 0
        connection.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet)")
        return int(connection.execute(f"SELECT sum(n) FROM read_parquet('{out}')").fetchone()[0])

    return run


def polars_job(job: str, files: list[str], out: str) -> Callable[[], int]:
    import polars as pl

    def minute(column: str) -> pl.Expr:
        return (pl.col(column).to_physical() // MINUTE_US).alias("minute")

    events = pl.scan_parquet(files)
    if job == "scan":
        query = events.select(pl.col("event_time").max(), pl.col("source").max())
    elif job == "scan with id":
        query = events.select(pl.col("event_time").max(), pl.col("source").max(), pl.col("event_id").max())
    elif job == "plain":
        query = events.group_by("source", minute("event_time")).agg(pl.len().alias("n"))
    else:
        once = events.group_by("source", "event_id").agg(pl.col("event_time").min())
        query = once.group_by("source", minute("event_time")).agg(pl.len().alias("n"))

    def run() -> int:
        result = query.collect(engine="streaming")
        if job.startswith("scan"):
            return 0
        result.write_parquet(out)
        return int(result["n"].sum())

    return run


def main() -> None:
    engine, job, runs, out, *files = sys.argv[1:]
    run = {"duckdb": duckdb_job, "polars": polars_job}[engine](job, files, out)
    for _ in range(int(runs)):
        began = time.perf_counter()
        counted = run()
        print(json.dumps({"seconds": time.perf_counter() - began, "counted": counted}), flush=True)


if __name__ == "__main__":
    main()
