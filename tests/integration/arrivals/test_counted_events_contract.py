"""Event files are a source of arrivals like any other, whether events alone or a coverage file tell of their feed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract.arrival_source_contract import ArrivalSourceContract, KnownArrivals

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.sources.counted_events import CountedEvents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = EventColumns("at", "feed", key="topic", id="id")
NOW = datetime(2003, 3, 4, tzinfo=UTC)


def write_events(folder: Path, known: KnownArrivals) -> Path:
    """The known events, one in three delivered twice, and one more at either side."""
    times = [known.edge(0) - timedelta(seconds=40), known.edge(len(known.counts)) + timedelta(seconds=1)]
    for number, count in enumerate(known.counts):
        times += [known.edge(number) + timedelta(seconds=known.window_s) * n / count for n in range(count)]
    rows = [(f"call-{number}", time) for number, time in enumerate(times)]
    rows += [(id, time + timedelta(milliseconds=1)) for id, time in rows[::3]]
    folder.mkdir()
    for part in range(2):
        table = {
            "id": [id for id, _ in rows[part::2]],
            "at": pa.array([time for _, time in rows[part::2]], pa.timestamp("us", tz="UTC")),
            "feed": [known.source] * len(rows[part::2]),
            "topic": ["loans"] * len(rows[part::2]),
        }
        pq.write_table(pa.table(table), folder / f"{part}.parquet", row_group_size=20)
    return folder


@pytest.mark.spark
class TestCountedEvents(ArrivalSourceContract):
    @pytest.fixture
    def known(self) -> KnownArrivals:
        return KnownArrivals("ingest", datetime(2003, 3, 3, 7, tzinfo=UTC), 60, (3, 0, 50, 4, 5, 2))

    @pytest.fixture
    def source(self, spark: "SparkSession", tmp_path: Path, known: KnownArrivals) -> CountedEvents:
        return CountedEvents(spark, EventFiles(write_events(tmp_path / "events", known), COLUMNS), NOW)

    @pytest.fixture
    def unreachable(self, spark: "SparkSession", tmp_path: Path) -> CountedEvents:
        return CountedEvents(spark, EventFiles(tmp_path / "nowhere", COLUMNS), NOW)


@pytest.mark.spark
class TestCountedEventsWithCoverage(TestCountedEvents):
    @pytest.fixture
    def source(self, spark: "SparkSession", tmp_path: Path, known: KnownArrivals) -> CountedEvents:
        coverage = tmp_path / "coverage.csv"
        coverage.write_text("source,alive_from,alive_to\ningest,2003-03-03T06:30Z,2003-03-03T08:00Z\n")
        files = EventFiles(write_events(tmp_path / "events", known), COLUMNS, coverage=coverage)
        return CountedEvents(spark, files, NOW)
