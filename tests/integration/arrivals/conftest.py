"""One Spark session for all tests of arrivals, started the fast way, and raw events written as files."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.pipeline import HistorySummary, build_history
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.arrivals.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = EventColumns(time="at", source="feed", key="topic", id="id")


@pytest.fixture(scope="package")
def spark() -> Iterator["SparkSession"]:
    # The light compiler and collector start sooner; jobs as small as these never repay better ones.
    fast_start = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with spark_session("local[2]", "tests", shuffle_partitions=2, driver_java_options=fast_start) as session:
        yield session


@pytest.fixture
def events(tmp_path: Path) -> Callable[..., EventFiles]:
    """Parquet files of events below tmp_path/events, one list of (id, ISO time in UTC[, feed]) a file; their source."""

    def write(*files: list[tuple[str | None, ...]], **of: object) -> EventFiles:
        for number, rows in enumerate(files):
            folder = tmp_path / "events" / f"date=2003-03-{number + 1:02d}"
            folder.mkdir(parents=True)
            times = [None if row[1] is None else datetime.fromisoformat(row[1]).replace(tzinfo=UTC) for row in rows]
            table = {
                "id": pa.array([row[0] for row in rows], pa.string()),
                "at": pa.array(times, pa.timestamp("us", tz="UTC")),
                "feed": pa.array([row[2] if len(row) > 2 else "ingest" for row in rows], pa.string()),
                "topic": pa.array(["loans"] * len(rows), pa.string()),
            }
            pq.write_table(pa.table(table), folder / "part.parquet")
        return EventFiles(tmp_path / "events", COLUMNS, **of)  # type: ignore[arg-type]

    return write


@pytest.fixture
def build(spark: "SparkSession", tmp_path: Path) -> Callable[..., HistorySummary]:
    """Builds the history of topology `calls` in tmp_path/history, in windows of an hour unless told otherwise."""

    def built(source: EventFiles, start: str | None, end: str, *, window_s: int = 3600) -> HistorySummary:
        return build_history(
            CountedEvents(spark, source, datetime(2030, 1, 1, tzinfo=UTC)),
            topology="calls",
            window_s=window_s,
            start=None if start is None else datetime.fromisoformat(start).replace(tzinfo=UTC),
            end=datetime.fromisoformat(end).replace(tzinfo=UTC),
            out_dir=tmp_path / "history",
        )

    return built


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., list[tuple[int, int | None, str]]]:
    """The rows of one source as they lie on disk: hour of the first date on, count, status."""

    def read(source: str = "ingest") -> list[tuple[int, int | None, str]]:
        parts = sorted((tmp_path / "history").glob("topology=calls/date=*/part-*.parquet"))
        found = [row for part in parts for row in pq.ParquetFile(part).read().to_pylist() if row["source"] == source]
        midnight = datetime(2003, 3, 3, tzinfo=UTC)
        return [((r["window_start"] - midnight).total_seconds() / 3600, r["count"], r["status"]) for r in found]

    return read
