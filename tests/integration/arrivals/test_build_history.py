"""From raw events to the arrival history with a real Spark session."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.pipeline import HistorySummary
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError

pytestmark = pytest.mark.spark

Events = Callable[..., EventFiles]
Build = Callable[..., HistorySummary]
Rows = Callable[..., list[tuple[int, int | None, str]]]


def coverage(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "coverage.csv"
    path.write_text("\n".join(["source,alive_from,alive_to", *lines]) + "\n")
    return path


def test_windows__are_observed_partial_or_missing_as_the_coverage_file_says(
    tmp_path: Path, events: Events, build: Build, rows: Rows
) -> None:
    alive = coverage(tmp_path, "ingest,2003-03-03T01:00Z,2003-03-03T03:30Z")
    source = events(
        [("a", "2003-03-03T01:00"), ("b", "2003-03-03T01:59:59.999999"), ("c", "2003-03-03T03:00")], coverage=alive
    )
    summary = build(source, "2003-03-03T00:00", "2003-03-03T05:00")
    assert rows() == [
        (0, None, "missing"),
        (1, 2, "observed"),
        (2, 0, "observed"),
        (3, 1, "partial"),
        (4, None, "missing"),
    ]
    assert (summary.quality.total.observed, summary.quality.total.partial, summary.quality.total.missing) == (2, 1, 2)
    assert (summary.quality.total.rows_read, summary.quality.total.duplicates, summary.quality.total.kept) == (3, 0, 3)


def test_windows__without_a_coverage_file__are_alive_between_events_that_are_close(
    events: Events, build: Build, rows: Rows
) -> None:
    # Silences of 1:30 h are allowed: alive from 0:30 to 3:00, then 3 h of silence, and alive from 6:00 to 7:30.
    times = ["00:30", "02:00", "03:00", "06:00", "07:30"]
    source = events([(str(n), f"2003-03-03T{time}") for n, time in enumerate(times)], max_silence_s=5400)
    build(source, None, "2003-03-03T08:00")
    assert rows() == [
        (0, 1, "partial"),
        (1, 0, "observed"),
        (2, 1, "observed"),
        (3, 1, "partial"),
        (4, None, "missing"),
        (5, None, "missing"),
        (6, 1, "observed"),
        (7, 1, "partial"),
    ]


def test_silence_shorter_than_a_window__still_makes_it_partial(events: Events, build: Build, rows: Rows) -> None:
    # One event every 10 minutes, but none from 1:20 to 1:50 (exclusive): 30 minutes, where 15 are allowed.
    minutes = [m for m in range(0, 181, 10) if not 80 < m < 110]
    source = events([(str(m), f"2003-03-03T{m // 60:02d}:{m % 60:02d}") for m in minutes], max_silence_s=900)
    build(source, None, "2003-03-03T03:00")
    assert rows() == [(0, 6, "observed"), (1, 4, "partial"), (2, 6, "observed")]


def test_silence_across_the_end_of_an_interval__is_judged_by_events_beyond_it(
    events: Events, build: Build, rows: Rows
) -> None:
    source = events([("a", "2003-03-03T00:50"), ("b", "2003-03-03T01:30"), ("c", "2003-03-03T02:10")])
    build(source, "2003-03-03T01:00", "2003-03-03T02:00")
    assert rows() == [(1, 1, "observed")]


def test_copies__count_once_at_their_earliest_time_though_they_lie_on_other_days(
    tmp_path: Path, events: Events, build: Build, rows: Rows
) -> None:
    alive = coverage(tmp_path, "ingest,2003-03-03,2003-03-05")
    later = [("a", "2003-03-04T00:10"), ("a", "2003-03-04T05:00"), ("b", "2003-03-04T01:00")]
    source = events(later, [("a", "2003-03-03T23:50"), ("b", "2003-03-04T01:00")], coverage=alive)
    summary = build(source, "2003-03-03T23:00", "2003-03-04T02:00")
    assert rows() == [(23, 1, "observed"), (24, 0, "observed"), (25, 1, "observed")]
    # Four rows lie in the interval; the copy at 5:00 is beyond it.
    assert (summary.quality.total.rows_read, summary.quality.total.duplicates, summary.quality.total.kept) == (4, 2, 2)


def test_copy_whose_original_came_before_the_interval__does_not_count_in_it(
    tmp_path: Path, events: Events, build: Build, rows: Rows
) -> None:
    alive = coverage(tmp_path, "ingest,2003-03-03,2003-03-05")
    source = events([("a", "2003-03-03T00:10"), ("a", "2003-03-04T00:10")], coverage=alive)
    for day in ("03", "04"):
        summary = build(source, f"2003-03-{day}T00:00", f"2003-03-{day}T02:00")
    assert [row for row in rows() if row[1]] == [(0, 1, "observed")]
    assert (summary.quality.total.rows_read, summary.quality.total.duplicates, summary.quality.total.kept) == (1, 1, 0)


def test_copies__are_sought_only_as_far_back_as_they_can_lie(tmp_path: Path, events: Events, build: Build) -> None:
    alive = coverage(tmp_path, "ingest,2003-03-03,2003-03-05")
    source = events(
        [("a", "2003-03-03T22:00"), ("a", "2003-03-04T02:00")], coverage=alive, max_silence_s=1, max_copy_gap_s=3600
    )
    assert build(source, "2003-03-04T00:00", "2003-03-04T03:00").quality.total.kept == 1


def test_same_id_in_two_sources__is_two_events_and_rows_without_id_are_events_of_their_own(
    events: Events, build: Build
) -> None:
    at = "2003-03-03T00:10"
    source = events([("a", at, "calls"), ("a", at, "mail"), (None, at, "mail"), (None, at, "mail")])
    summary = build(source, None, "2003-03-03T01:00")
    assert summary.per_source == {"calls": 1, "mail": 3}


def test_events_outside_the_coverage__make_their_window_partial_and_are_kept(
    tmp_path: Path, events: Events, build: Build, rows: Rows
) -> None:
    alive = coverage(tmp_path, "ingest,2003-03-03T01:00Z,2003-03-03T02:00Z")
    summary = build(events([("a", "2003-03-03T00:10")], coverage=alive), None, "2003-03-03T02:00")
    assert rows() == [(0, 1, "partial"), (1, 0, "observed")]
    assert summary.quality.total.kept == 1


def test_source_that_was_alive_without_an_event__is_zero_throughout(
    tmp_path: Path, events: Events, build: Build, rows: Rows
) -> None:
    alive = coverage(tmp_path, "ingest,2003-03-03,2003-03-04", "mail,2003-03-03,2003-03-04")
    build(events([("a", "2003-03-03T00:10")], coverage=alive), None, "2003-03-03T02:00")
    assert rows("mail") == [(0, 0, "observed"), (1, 0, "observed")]


def test_source_that_the_coverage_does_not_list__is_an_error_and_nothing_is_written(
    tmp_path: Path, events: Events, build: Build
) -> None:
    source = events([("a", "2003-03-03T00:10")], coverage=coverage(tmp_path, "mail,2003-03-03,2003-03-04"))
    with pytest.raises(HistoryError, match=r"source 'ingest', which coverage file .* does not list \(mail\); add when"):
        build(source, None, "2003-03-03T02:00")
    left = {path.name for path in (tmp_path / "history").rglob("*") if path.is_file()}
    assert left <= {"_lock"}


def test_same_interval_twice__leaves_the_same_files(tmp_path: Path, events: Events, build: Build) -> None:
    source = events([("a", "2003-03-03T23:10"), ("b", "2003-03-04T00:10")])
    left = []
    for _ in range(2):
        build(source, None, "2003-03-04T02:00")
        left.append({path.name: path.read_bytes() for path in (tmp_path / "history").rglob("*") if path.is_file()})
    assert left[0] == left[1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_counts__add_up_to_the_distinct_events_of_the_interval(
    tmp_path: Path, events: Events, build: Build, seed: int
) -> None:
    # 400 events over four days, a third delivered up to three times more, at times of their own, in four files.
    rng = np.random.default_rng(seed)
    midnight = np.datetime64("2003-03-02", "us")
    first_us: dict[str, int] = {}
    files: list[list[tuple[str, str]]] = [[], [], [], []]
    for number in range(400):
        for at_us in rng.integers(0, 4 * 86_400_000_000, size=rng.choice([1, 1, 2, 4])).tolist():
            files[rng.integers(4)].append((str(number), str(midnight + np.timedelta64(at_us, "us"))))
            first_us[str(number)] = min(at_us, first_us.get(str(number), at_us))
    summary = build(events(*files, max_copy_gap_s=4 * 86_400), "2003-03-03T00:00", "2003-03-04T12:00", window_s=300)
    inside = [us for us in first_us.values() if 86_400_000_000 <= us < 216_000_000_000]
    assert summary.quality.total.kept == len(inside)
    # The rows on disk, partial windows included, hold them all.
    import pyarrow.parquet as pq

    parts = [pq.ParquetFile(path).read() for path in (tmp_path / "history").rglob("part-*")]
    counts = [count for part in parts for count in part["count"].to_pylist()]
    assert sum(count or 0 for count in counts) == len(inside)
    assert summary.quality.total.rows_read - summary.quality.total.duplicates == len(inside)


def test_history__built_day_by_day_is_the_one_built_at_once(tmp_path: Path, events: Events, build: Build) -> None:
    rng = np.random.default_rng(5)
    times = np.datetime64("2003-03-03", "us") + np.sort(rng.integers(0, 2 * 86_400_000_000, size=300)).astype("m8[us]")
    source = events([(str(n % 250), str(time)) for n, time in enumerate(times)], max_silence_s=1800)
    build(source, None, "2003-03-05T00:00")
    at_once = read_history(tmp_path / "history", "calls").digest()
    for day in (3, 4):
        build(source, f"2003-03-0{day}T00:00", f"2003-03-0{day + 1}T00:00")
    assert read_history(tmp_path / "history", "calls").digest() == at_once


def test_constant_source_and_no_id__count_every_row(tmp_path: Path, events: Events, build: Build) -> None:
    path = events([("a", "2003-03-03T00:10"), ("a", "2003-03-03T00:10")]).path
    summary = build(EventFiles(path, EventColumns("at"), source="web"), None, "2003-03-03T01:00")
    assert summary.per_source == {"web": 2}


def test_interval_before_its_first_window_is_over__is_refused(events: Events, build: Build) -> None:
    with pytest.raises(HistoryError, match="no window of 3600 s is over"):
        build(events([("a", "2003-03-03T00:10")]), "2003-03-03T00:00", "2003-03-03T00:30")
