"""Rows that come late or are stamped by a wrong clock, through builds that go on from one another."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.pipeline import HistorySummary, build_history
from forecasting.arrivals.quality import SourceQuality, quality
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.arrivals.store import read_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MIDNIGHT = datetime(2003, 3, 3, tzinfo=UTC)
Build = Callable[..., HistorySummary]


def at(hour: float) -> datetime:
    """That many hours after midnight of 3 March 2003."""
    return MIDNIGHT + timedelta(hours=hour)


@pytest.fixture
def drop(tmp_path: Path) -> Callable[..., None]:
    """Adds a file of events (hour[, hour of arrival]) to those below tmp_path/events."""

    def dropped(*rows: tuple[float, ...]) -> None:
        folder = tmp_path / "events"
        folder.mkdir(exist_ok=True)
        table = {"at": pa.array([at(row[0]) for row in rows], pa.timestamp("us", tz="UTC"))}
        if len(rows[0]) > 1:
            table["came"] = pa.array([at(row[1]) for row in rows], pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table(table), folder / f"{len(list(folder.iterdir()))}.parquet")

    return dropped


@pytest.fixture
def build(spark: "SparkSession", tmp_path: Path) -> Build:
    """A build at an hour, on from where the history ends or again from another hour; windows of one hour."""

    def built(
        now: float, arrived: str | None = None, start: float | None = None, end: float | None = None, **of: object
    ) -> HistorySummary:
        of = {"max_silence_s": 10 * 3600, "lateness_s": 2 * 3600, **of}
        files = EventFiles(tmp_path / "events", EventColumns("at", arrived=arrived), source="web", **of)  # type: ignore[arg-type]
        return build_history(
            CountedEvents(spark, files, at(now)),
            topology="calls",
            window_s=3600,
            start=None if start is None else at(start),
            end=at(now if end is None else end),
            out_dir=tmp_path / "history",
            reopen_s=files.lateness_s,
        )

    return built


def whole(tmp_path: Path) -> SourceQuality:
    """Of all three days that the tests are about."""
    return quality(tmp_path / "history", "calls", MIDNIGHT, at(72)).total


def test_row_that_comes_before_its_window_is_closed__counts_in_the_next_build_and_one_after_it_is_late(
    tmp_path: Path, drop: Callable[..., None], build: Build
) -> None:
    drop((22.5, 22.5), (23.5, 23.5), (24.5, 24.5))
    build(25, "came")
    # The window from 22:00 is closed at 1:00 of the next day, that from 23:00 at 2:00.
    drop((22.6, 25.5), (23.6, 25.5), (25.5, 25.5))
    summary = build(26, "came")
    # On from 25:00, 2 hours back: to 23:00, and thus to midnight of 3 March.
    assert summary.start == MIDNIGHT
    counts = read_history(tmp_path / "history", "calls").series["web"].counts
    assert counts[23:25].tolist() == [2, 1]
    found = whole(tmp_path)
    assert (found.rows_read, found.kept, found.late) == (6, 5, 1)


def test_late_rows__are_the_same_however_often_and_in_whatever_intervals_they_are_built_again(
    tmp_path: Path, drop: Callable[..., None], build: Build
) -> None:
    hours = [at / 4 for at in range(8, 240)]
    drop(*((hour, hour + (at * 7 % 50) / 10) for at, hour in enumerate(hours)))
    build(60, "came")
    before = whole(tmp_path)
    assert before.late > 0
    assert before.kept + before.late == before.rows_read == 232
    for start, end in ((0, 60), (24, 48), (5, 7), (30, 31), (0, 24), (48, 60)):
        build(60, "came", start, end)
        assert whole(tmp_path) == before


def test_row_without_a_time_of_arrival__counts_while_its_window_is_read_again_and_else_once_it_is_built_by_hand(
    tmp_path: Path, drop: Callable[..., None], build: Build
) -> None:
    drop((1,), (30,), (47.5,))
    build(48)
    # On from 48:00, an hour back: to midnight of 4 March. The window at 30:00 is read again, that at 2:00 is not.
    drop((2,), (31,), (48.5,))
    build(50)
    assert whole(tmp_path).kept == 5
    build(50, start=0, end=24)
    assert whole(tmp_path).kept == 6


@pytest.mark.parametrize("wrong", [-300_000, 10_000], ids=["1968", "2004"])
def test_rows_of_a_wrong_clock__are_counted_once_over_the_whole_history_while_it_goes_on(
    tmp_path: Path, drop: Callable[..., None], build: Build, wrong: float
) -> None:
    drop((1,), (10,), (wrong,), (wrong + 1,))
    for now in (11, 12, 24, 25, 40, 49):
        drop((now - 0.5,))
        build(now)
        found = whole(tmp_path)
        assert sum(found.quarantined.values()) == 2
        assert found.kept + 2 == found.rows_read
    # An older day once more, and all of them.
    build(49, start=0, end=24)
    assert sum(whole(tmp_path).quarantined.values()) == 2
    build(49, start=0)
    assert sum(whole(tmp_path).quarantined.values()) == 2
    assert whole(tmp_path).quarantined["future" if wrong > 0 else "unset_clock"] == 2


def test_rows_of_a_wrong_clock__are_told_of_where_they_came_in_if_that_is_known(
    tmp_path: Path, drop: Callable[..., None], build: Build
) -> None:
    drop((1, 1), (9000, 5.5), (10, 10), (-300_000, 30.5), (50, 50), (12, 11.8))
    build(51, "came")
    one_day = quality(tmp_path / "history", "calls", at(0), at(24)).total
    # Twelve minutes ahead of its arrival is more than the five that are allowed, too.
    assert one_day.quarantined == {"future": 2, "unset_clock": 0, "skipped_hour": 0, "damaged": 0}
    assert whole(tmp_path).quarantined == {"future": 2, "unset_clock": 1, "skipped_hour": 0, "damaged": 0}
    assert (whole(tmp_path).kept, whole(tmp_path).rows_read) == (3, 6)


def test_event_that_was_ahead_of_now__counts_once_now_has_reached_it(
    tmp_path: Path, drop: Callable[..., None], build: Build
) -> None:
    drop((1,), (30,))
    build(20)
    assert (whole(tmp_path).kept, whole(tmp_path).quarantined["future"]) == (1, 1)
    build(40)
    assert (whole(tmp_path).kept, whole(tmp_path).quarantined["future"]) == (2, 0)


def test_row_that_stands_for_a_day__keeps_the_feed_alive_for_it_in_whatever_interval_it_is_read(
    spark: "SparkSession", tmp_path: Path
) -> None:
    table = {"at": pa.array([at(0), at(24)], pa.timestamp("us", tz="UTC")), "n": pa.array([70, 0])}
    pq.write_table(pa.table(table), tmp_path / "daily.parquet")
    files = EventFiles(tmp_path / "daily.parquet", EventColumns("at", weight="n"), source="web", span_s=86_400)
    source = CountedEvents(spark, files, at(100))
    for first, last, counts in ((0, 24, [70]), (24, 48, [0]), (0, 48, [70, 0])):
        arrivals = source.read(at(first), at(last), 86_400)
        assert arrivals.sources["web"].counts.tolist() == counts
        assert arrivals.sources["web"].alive.tolist()[0][1] >= arrivals.edges_us()[-1]


def test_a_row_without_a_weight__is_told_by_the_read_that_reaches_now_though_an_earlier_one_met_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    # Five days of a row an hour, read as a long build reads them: in two parts. The 31st row has no valid weight.
    weights = [-5 if hour == 30 else 2 for hour in range(120)]
    table = {"at": pa.array([at(hour) for hour in range(120)], pa.timestamp("us", tz="UTC")), "n": pa.array(weights)}
    pq.write_table(pa.table(table), tmp_path / "hourly.parquet")
    files = EventFiles(tmp_path / "hourly.parquet", EventColumns("at", weight="n"), source="web")
    source = CountedEvents(spark, files, at(120))
    parts = [source.read(at(first), at(last), 3600).sources["web"] for first, last in ((0, 72), (72, 120))]
    assert "damaged" not in parts[0].tallies
    assert parts[1].tallies["damaged"].tolist() == [0] * 47 + [1]
    # All 120 rows were read, and 119 of them count.
    assert sum(int(part.tallies["rows_read"].sum()) for part in parts) == 120
