"""What is said when files or workers fail in the midst of a build, and that nothing is written then."""

import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.arrival_source import Arrivals
from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.pipeline import build_history
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = datetime(2003, 3, 3, tzinfo=UTC)
NOW = START + timedelta(days=1)


def write(path: Path, rows: int = 100) -> Path:
    """A file of events that come evenly over the day."""
    path.parent.mkdir(exist_ok=True)
    step_us = 86_400_000_000 // rows
    times = pa.array(int(START.timestamp()) * 1_000_000 + np.arange(rows) * step_us).cast(pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"at": times}), path)
    return path


def failed(source: CountedEvents, out_dir: Path) -> str:
    """What the build says, in one line; it leaves nothing."""
    with pytest.raises(HistoryError) as error:
        build_history(source, topology="calls", window_s=3600, start=START, end=NOW, out_dir=out_dir)
    assert "\n" not in str(error.value)
    assert {path.name for path in out_dir.rglob("*") if path.is_file()} <= {"_lock"}
    return str(error.value)


class Meanwhile(CountedEvents):
    """To whose files something happens once it is known what they hold, and before they are read."""

    happens: Callable[[], object]

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        assert self._row_groups is not None
        type(self).happens()
        return super().read(start, end, window_s)


@pytest.fixture
def build(spark: "SparkSession", tmp_path: Path) -> Callable[[Callable[[], object]], str]:
    def built(happens: Callable[[], object]) -> str:
        class Source(Meanwhile):
            pass

        Source.happens = staticmethod(happens)  # type: ignore[assignment]
        return failed(
            Source(spark, EventFiles(tmp_path / "events", EventColumns("at"), source="web"), NOW), tmp_path / "history"
        )

    return built


def test_file_that_disappears__is_named(tmp_path: Path, build: Callable[[Callable[[], object]], str]) -> None:
    write(tmp_path / "events" / "a.parquet")
    gone = write(tmp_path / "events" / "b.parquet")
    said = build(gone.unlink)
    assert "b.parquet" in said
    assert "No such file" in said


def test_file_that_is_damaged_after_its_footer_was_read__is_named(
    tmp_path: Path, build: Callable[[Callable[[], object]], str]
) -> None:
    write(tmp_path / "events" / "a.parquet")
    poor = write(tmp_path / "events" / "b.parquet")
    whole = poor.read_bytes()
    said = build(lambda: poor.write_bytes(b"\xff" * 200 + whole[200:]))
    assert "b.parquet" in said
    assert "a.parquet" not in said


def test_file_that_shrinks__is_named(tmp_path: Path, build: Callable[[Callable[[], object]], str]) -> None:
    write(tmp_path / "events" / "a.parquet")
    poor = write(tmp_path / "events" / "b.parquet")
    said = build(lambda: poor.write_bytes(poor.read_bytes()[:300]))
    assert "b.parquet" in said


def test_empty_file__is_named_and_not_passed_over(tmp_path: Path, spark: "SparkSession") -> None:
    write(tmp_path / "events" / "a.parquet")
    (tmp_path / "events" / "b.parquet").write_bytes(b"")
    source = CountedEvents(spark, EventFiles(tmp_path / "events", EventColumns("at"), source="web"), NOW)
    assert "b.parquet is empty" in failed(source, tmp_path / "history")


def test_csv_that_disappears__is_named(tmp_path: Path, spark: "SparkSession") -> None:
    (tmp_path / "events").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "events" / name).write_text("at\n2003-03-03T07:00:00Z\n")
    source = CountedEvents(spark, EventFiles(tmp_path / "events", EventColumns("at"), "csv", "web"), NOW)
    assert source.first_moment() == START + timedelta(hours=7)
    (tmp_path / "events" / "b.csv").unlink()
    assert "b.csv" in failed(source, tmp_path / "history")


def test_file_that_was_repaired_before_it_is_looked_at_again__is_no_riddle(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    # The tasks find a null; when Spark looks for it, it is gone.
    from forecasting.arrivals.counting.spark_rows import loaded, row_problem

    write(tmp_path / "events" / "a.parquet")
    files = EventFiles(tmp_path / "events", EventColumns("at"), source="web")
    with pytest.raises(HistoryError, match="changed while they were read; let their writer finish"):
        row_problem(loaded(spark, files), files)


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds workers by their parents")
def test_worker_that_is_killed__fails_the_build_in_one_line(tmp_path: Path, spark: "SparkSession") -> None:
    # Large enough that its tasks are at work when their workers die; every one of them, until the build has ended.
    write(tmp_path / "events" / "a.parquet", 6_000_000)
    ended = threading.Event()
    killed = []

    def kill_workers() -> None:
        while not ended.is_set():
            for process in psutil.Process().children(recursive=True):
                try:
                    if process.parent() and "pyspark.daemon" in process.parent().cmdline():  # type: ignore[union-attr]
                        os.kill(process.pid, signal.SIGKILL)
                        killed.append(process.pid)
                except (psutil.NoSuchProcess, ProcessLookupError):
                    continue
            time.sleep(0.02)

    source = CountedEvents(spark, EventFiles(tmp_path / "events", EventColumns("at"), source="web"), NOW)
    assert source.first_moment() == START
    killer = threading.Thread(target=kill_workers)
    killer.start()
    try:
        said = failed(source, tmp_path / "history")
    finally:
        ended.set()
        killer.join()
    assert killed
    assert "events cannot be read as parquet" in said
    # And the session lives on.
    assert source.read(START, NOW, 86_400).sources["web"].counts.tolist() == [6_000_000]
