"""Commits of many batches, in whatever place the history lies."""

import weakref
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pytest
from contract.history_directory import HistoryDirectory, below
from history_rows import RowsFrom

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.store import built_until, read_history, write_history
from forecasting.errors import HistoryError

START = datetime(2003, 3, 3, tzinfo=UTC)
DAY = timedelta(days=1)


def told(day: int, count: int, days: int = 1) -> Arrivals:
    """So many events in each hour of the days."""
    source = SourceArrivals(np.full(24 * days, count), np.array([[0, 2**62]]))
    start = START + day * DAY
    return Arrivals(start, start + days * DAY, 3600, Measures.OFFERED, {"ingest": source})


def counts(directory: Directory) -> list[float]:
    return read_history(directory, "calls").series["ingest"].counts.tolist()


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def two_days_and_no_more() -> Iterator[Arrivals]:
    yield told(0, 2)
    yield told(1, 2)
    raise RuntimeError("the broker is gone")


class HistoryBatchesContract(HistoryDirectory):
    """See HistoryDirectory."""

    def test_batches__become_one_commit_in_the_end(self, directory: Directory, kept: Path) -> None:
        write_history(told(0, 1, days=4), directory, "calls", START, START + 4 * DAY)
        seen = []

        def batches() -> Iterator[Arrivals]:
            for day in range(4):
                yield told(day, 2)
                # By now the days before it are on disk, and perhaps it as well; nobody sees them.
                staged = len(list(kept.glob("topology=calls/date=*/part-*"))) - 4
                seen.append((staged in (day, day + 1), set(counts(directory))))

        write_history(batches(), directory, "calls", START, START + 4 * DAY)
        assert seen == [(True, {1})] * 4
        assert counts(directory) == [2] * 96

    def test_batches__are_the_same_as_one_table(self, directory: Directory, rows_from: RowsFrom) -> None:
        rows = rows_from("2003-03-03", range(96))
        interval = START + timedelta(hours=3), START + timedelta(days=4, hours=-2)
        inside = rows.slice(3, 96 - 5)
        pieces = [inside.slice(0, 21), inside.slice(21, 48), inside.slice(69)]
        at_once = write_history(inside, below(directory, "a"), "calls", *interval)
        assert write_history(iter(pieces), below(directory, "b"), "calls", *interval) == at_once
        # Tables and arrivals may come mixed.
        assert (
            write_history([told(0, 7), rows.slice(24)], below(directory, "c"), "calls", START, START + 4 * DAY)
            != at_once
        )
        assert counts(below(directory, "c")) == [7] * 24 + list(range(24, 96))

    def test_dates_that_no_batch_reaches__hold_nothing_of_the_interval_any_more(self, directory: Directory) -> None:
        write_history(told(0, 1, days=6), directory, "calls", START, START + 6 * DAY)
        noon, evening = START + timedelta(hours=12), START + timedelta(days=5, hours=18)
        afternoon = told(2, 2)
        write_history([afternoon], directory, "calls", noon, evening)
        found = np.array(counts(directory))
        expected = [1] * 12 + [np.nan] * 36 + [2] * 24 + [np.nan] * (48 + 18) + [1] * 6
        assert found.tolist() == pytest.approx(expected, nan_ok=True)

    def test_batches__that_fail_leave_what_was(self, directory: Directory) -> None:
        write_history(told(0, 1, days=3), directory, "calls", START, START + 3 * DAY)
        with pytest.raises(RuntimeError, match="the broker is gone"):
            write_history(two_days_and_no_more(), directory, "calls", START, START + 3 * DAY)
        assert counts(directory) == [1] * 72

    def test_a_part_that_is_in_force__outlives_a_writer_that_staged_it_again_and_failed(
        self, directory: Directory
    ) -> None:
        write_history(told(0, 1, days=2), directory, "calls", START, START + 2 * DAY)

        def batches() -> Iterator[Arrivals]:
            yield told(0, 1)
            raise RuntimeError("the broker is gone")

        with pytest.raises(RuntimeError):
            write_history(batches(), directory, "calls", START, START + 2 * DAY)
        assert counts(directory) == [1] * 48

    @pytest.mark.parametrize(
        ("days", "complaint"),
        [
            (
                [1, 0],
                "a batch starts on 2003-03-03, one before it reached 2003-03-04; give batches of whole dates in order",
            ),
            ([0, 0], "a batch starts on 2003-03-03, one before it reached 2003-03-03"),
            ([], "there are no windows to write"),
            ([0, 3], "lies outside the interval"),
        ],
    )
    def test_batches__out_of_order_outside_or_none_at_all_are_refused(
        self, directory: Directory, days: list[int], complaint: str
    ) -> None:
        write_history(told(0, 1, days=3), directory, "calls", START, START + 3 * DAY)
        with pytest.raises(HistoryError, match=complaint):
            write_history((told(day, 2) for day in days), directory, "calls", START, START + 3 * DAY)
        assert counts(directory) == [1] * 72

    def test_batches__of_another_width_are_refused(self, directory: Directory, rows_from: RowsFrom) -> None:
        fine = rows_from("2003-03-04", [1] * 48, window_s=1800)
        with pytest.raises(HistoryError, match="has windows of 3600 s, these rows 1800 s"):
            write_history(iter([told(0, 1), fine]), directory, "calls", START, START + 2 * DAY)

    @pytest.mark.slow
    def test_of_many_batches__one_is_held_while_the_next_one_is_made(
        self, directory: Directory, rows_from: RowsFrom
    ) -> None:
        day = rows_from("2003-03-03", [1] * 86400, window_s=1)
        one, days, held = day.nbytes, 12, []
        del day
        allocated = pa.total_allocated_bytes()

        def batches() -> Iterator[pa.Table]:
            for number in range(days):
                held.append(pa.total_allocated_bytes() - allocated)
                yield rows_from(f"2003-03-{3 + number:02}", [1] * 86400, window_s=1)

        write_history(batches(), directory, "calls", START, START + days * DAY)
        # One, and what it takes to write it down; were all held, half of the twelve would be. A busy machine may free
        # one of them a moment late.
        assert median(held) < 3 * one
        assert len(held) == days

    def test_of_arrivals_that_were_written__none_is_held_while_the_next_ones_are_made(
        self, directory: Directory
    ) -> None:
        alive: list[weakref.ref[Arrivals]] = []

        def batches() -> Iterator[Arrivals]:
            for day in range(5):
                assert [ref for ref in alive if ref() is not None] == []
                batch = told(day, 1)
                alive.append(weakref.ref(batch))
                yield batch
                del batch

        write_history(batches(), directory, "calls", START, START + 5 * DAY)
        assert len(alive) == 5

    def test_built_until__is_the_end_of_the_latest_interval_ever_written(self, directory: Directory) -> None:
        assert built_until(directory, "calls") is None
        write_history(told(0, 1), directory, "calls", START, START + DAY + timedelta(hours=5, minutes=20))
        assert built_until(directory, "calls") == START + timedelta(hours=29)
        write_history(told(0, 3), directory, "calls", START, START + DAY)
        assert built_until(directory, "calls") == START + timedelta(hours=29)

    def test_histogram__outside_its_windows_or_given_twice_is_refused(self, directory: Directory, kept: Path) -> None:
        def with_keys(*days: int) -> Arrivals:
            keys = tuple(DailyKeyCounts("ingest", date(2003, 3, day), {"a": 24}, 0) for day in days)
            plain = told(0, 1)
            return Arrivals(plain.start, plain.end, 3600, Measures.OFFERED, plain.sources, keys)

        with pytest.raises(HistoryError, match="key histogram of source 'ingest' on 2003-03-04 lies outside the days"):
            write_history(with_keys(4), directory, "calls", START, START + 2 * DAY)
        with pytest.raises(HistoryError, match="on 2003-03-03 is given twice"):
            write_history(with_keys(3, 3), directory, "calls", START, START + 2 * DAY)
        assert files(kept) == set()
