"""From a source of arrivals to the history: where it goes on, and which sources it knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.grid import SECOND_US, to_us
from forecasting.arrivals.pipeline import HistorySummary, build_history
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError

MIDNIGHT = datetime(2003, 3, 3, tzinfo=UTC)
SIX_HOURS_US = 6 * 3600 * SECOND_US


@dataclass(frozen=True)
class Told:
    """A source that tells of windows of six hours from midnight on: a count each, None where its feed was not alive."""

    counts: Mapping[str, Sequence[int | None]]
    measures: Measures = Measures.OFFERED
    place: str = "a list"
    forgets: bool = False
    unsettled_s: float = 0.0

    def first_moment(self) -> datetime:
        return MIDNIGHT + timedelta(hours=1)

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        first, last = ((to_us(moment) - to_us(MIDNIGHT)) // SIX_HOURS_US for moment in (start, end))
        sources = {}
        for name, given in self.counts.items():
            inside = [given[at] if at < len(given) else None for at in range(first, last)]
            alive = [
                [to_us(start) + at * SIX_HOURS_US, to_us(start) + (at + 1) * SIX_HOURS_US]
                for at, count in enumerate(inside)
                if count is not None
            ]
            counts = np.array([count or 0 for count in inside], np.int64)
            sources[name] = SourceArrivals(counts, np.array(alive, np.int64).reshape(-1, 2))
        return Arrivals(start, end, window_s, self.measures, sources)


def build(
    directory: Path, source: Told, first: float | None, last: float, reopen_s: float = 0, window_s: int = 6 * 3600
) -> HistorySummary:
    """The history of the days from first to last (exclusive), counted from 3 March on."""
    start = None if first is None else MIDNIGHT + timedelta(days=first)
    end = MIDNIGHT + timedelta(days=last)
    return build_history(
        source, topology="calls", window_s=window_s, start=start, end=end, out_dir=directory, reopen_s=reopen_s
    )


def counts(directory: Path, source: str) -> list[tuple[float, int | None]]:
    """Day and count of every row of the source."""
    of_source = partial(rows_between, start=None, end=None, sources=[source])
    rows = read_commit(directory, "calls", None, of_source)[1].to_pylist()
    return [((row["window_start"] - MIDNIGHT) / timedelta(days=1), row["count"]) for row in rows]


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("part-*")}


WEB = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]


def test_source__is_in_the_history_from_the_first_day_that_tells_of_it(tmp_path: Path) -> None:
    # Mail is alive from noon of the second day on.
    build(tmp_path, Told({"web": WEB, "mail": [None] * 6 + [0, 0, 1, 1, 1, 1]}), None, 3)
    assert [row[0] for row in counts(tmp_path, "web")] == [at / 4 for at in range(12)]
    assert counts(tmp_path, "mail") == [
        (1, None), (1.25, None), (1.5, 0), (1.75, 0), (2, 1), (2.25, 1), (2.5, 1), (2.75, 1)
    ]  # fmt: skip


def test_history__is_the_same_at_once_day_by_day_and_again(tmp_path: Path) -> None:
    source = Told({"web": WEB, "mail": [None] * 6 + [0, 0, 1, 1], "post": [3]})
    at_once = build(tmp_path / "once", source, None, 3)
    again = build(tmp_path / "once", source, 0, 3)
    for day in range(3):
        by_day = build(tmp_path / "days", source, day, day + 1)
    assert at_once.snapshot == again.snapshot == by_day.snapshot


def test_nothing_new__changes_nothing(tmp_path: Path) -> None:
    first = build(tmp_path, Told({"web": WEB}), None, 3)
    before = files(tmp_path)
    assert build(tmp_path, Told({"web": WEB}), None, 3).snapshot == first.snapshot
    assert files(tmp_path) == before


@pytest.mark.slow
def test_a_day_more__touches_the_folder_of_that_date_alone(tmp_path: Path) -> None:
    source = Told({"web": [n % 7 for n in range(4 * 366)]})
    build(tmp_path, source, None, 365)
    before = files(tmp_path)
    summary = build(tmp_path, source, None, 366)
    assert summary.start == MIDNIGHT + timedelta(days=364)
    new = {name for name, content in files(tmp_path).items() if before.get(name) != content}
    # 3 March 2003 and 365 days, one of which is a leap day.
    assert {Path(name).parts[1] for name in new} == {"date=2004-03-02"}
    assert set(before) <= set(files(tmp_path))


def test_going_on__reopens_windows_that_may_still_change(tmp_path: Path) -> None:
    build(tmp_path, Told({"web": WEB}), None, 3)
    # 18 hours back from the end of the third day lies on that day; a moment more than 24 hours, on the second.
    assert build(tmp_path, Told({"web": WEB}), None, 3, reopen_s=18 * 3600).start == MIDNIGHT + timedelta(days=2)
    assert build(tmp_path, Told({"web": WEB}), None, 3, reopen_s=24 * 3600 + 1).start == MIDNIGHT + timedelta(days=1)


def test_going_on__reopens_windows_that_the_source_may_still_tell_of_otherwise(tmp_path: Path) -> None:
    build(tmp_path, Told({"web": WEB}), None, 3)
    unsettled = Told({"web": WEB}, unsettled_s=24 * 3600 + 1)
    assert build(tmp_path, unsettled, None, 3).start == MIDNIGHT + timedelta(days=1)


def test_going_on__from_a_history_that_reaches_into_the_future_starts_at_the_present(tmp_path: Path) -> None:
    build(tmp_path, Told({"web": WEB}), 0, 9)
    # Now is noon of the third day; the six hours before it are read again.
    assert build(tmp_path, Told({"web": WEB}), None, 2.5).start == MIDNIGHT + timedelta(days=2)


def test_source_that_is_told_of_no_more__is_missing_in_a_later_run(tmp_path: Path) -> None:
    build(tmp_path, Told({"web": WEB, "mail": [1] * 4}), None, 1)
    build(tmp_path, Told({"web": WEB}), 1, 2)
    # Also two days on, and after days that nobody read.
    build(tmp_path, Told({"web": WEB}), 2.5, 3)
    assert counts(tmp_path, "mail") == [
        (0, 1), (0.25, 1), (0.5, 1), (0.75, 1), (1, None), (1.25, None), (1.5, None), (1.75, None), (2.5, None),
        (2.75, None),
    ]  # fmt: skip
    assert np.isnan(read_history(tmp_path, "calls").series["mail"].counts[4:]).all()


def test_source_that_is_told_of_no_more__is_missing_in_what_is_built_again_and_from_there_on_as_it_was(
    tmp_path: Path,
) -> None:
    build(tmp_path, Told({"web": WEB, "mail": [None] * 4 + [2] * 8}), None, 3)
    build(tmp_path, Told({"web": WEB}), 0, 2)
    # Nothing was told of it on the first day before either.
    assert counts(tmp_path, "mail") == [
        (1, None), (1.25, None), (1.5, None), (1.75, None), (2, 2), (2.25, 2), (2.5, 2), (2.75, 2)
    ]  # fmt: skip


def test_sources_that_nothing_is_known_of__are_missing_throughout(tmp_path: Path) -> None:
    summary = build(tmp_path, Told({"web": [], "mail": []}), 0, 2)
    assert counts(tmp_path, "mail") == counts(tmp_path, "web") == [(at / 4, None) for at in range(8)]
    assert summary.quality.total.missing == 16


def test_no_source_at_all__is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="a list has no source with data between 2003-03-03"):
        build(tmp_path, Told({}), 0, 2)
    assert not files(tmp_path)


def test_throughput__is_throttled_or_partial_and_never_observed_and_reads_as_nan(tmp_path: Path) -> None:
    day = [[to_us(MIDNIGHT), to_us(MIDNIGHT) + 4 * SIX_HOURS_US]]

    class Throughput(Told):
        def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
            told = super().read(start, end, window_s).sources["web"]
            spans = np.array(day, np.int64)
            return Arrivals(
                start, end, window_s, self.measures, {"web": SourceArrivals(told.counts, told.alive, spans)}
            )

    summary = build(tmp_path, Throughput({"web": [1, None, 3, 4]}, Measures.THROUGHPUT), 0, 1)
    assert (summary.quality.total.observed, summary.quality.total.throttled, summary.quality.total.missing) == (0, 3, 1)
    assert np.isnan(read_history(tmp_path, "calls").series["web"].counts).all()
    bounds = read_history(tmp_path, "calls", lower_bounds=True).series["web"].counts
    np.testing.assert_array_equal(bounds, [1, np.nan, 3, 4])


def test_damaged_day__is_repaired_by_building_it_again(tmp_path: Path) -> None:
    source = Told({"web": WEB, "mail": [1] * 12})
    before = build(tmp_path, source, None, 3)
    next(tmp_path.glob("topology=calls/date=2003-03-04/part-*")).write_bytes(b"")
    assert build(tmp_path, source, 1, 2).snapshot == before.snapshot
    assert counts(tmp_path, "mail") == [(at / 4, 1) for at in range(12)]


def test_windows_that_do_not_divide_a_day__belong_to_the_day_on_which_they_start(tmp_path: Path) -> None:
    # 12,114 days to 3 March 2003 are 290,736 h = 41,533 * 7 h + 5 h: a window began at 19:00 of the day before. From
    # there to the end of the third day are 5 + 72 = 77 h, 11 windows of 7 h.
    class Sevens(Told):
        def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
            windows = (to_us(end) - to_us(start)) // (window_s * SECOND_US)
            alive = np.array([[to_us(start), to_us(end)]], np.int64)
            return Arrivals(
                start, end, window_s, self.measures, {"web": SourceArrivals(np.ones(windows, np.int64), alive)}
            )

    whole = build(tmp_path / "once", Sevens({}), 0, 3, window_s=7 * 3600)
    for day in range(3):
        parts = build(tmp_path / "days", Sevens({}), day, day + 1, window_s=7 * 3600)
    assert whole.snapshot == parts.snapshot
    assert whole.quality.total.kept == whole.quality.total.observed == 11
