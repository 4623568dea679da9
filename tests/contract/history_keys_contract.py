"""Key histograms, stored with the rows of their days, in whatever place the history lies."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from contract.history_directory import HistoryDirectory

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.key_histograms import histograms_of, histograms_table, read_key_histograms
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

START = datetime(2003, 3, 3, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def histogram(day: int, source: str = "ingest", **heavy: int) -> DailyKeyCounts:
    return DailyKeyCounts(source, date(2003, 3, day), heavy, residual=3, max_error=1)


def told(start: datetime, hours: int, *keys: DailyKeyCounts) -> Arrivals:
    source = SourceArrivals(np.full(hours, 5), np.array([[0, 2**62]]))
    return Arrivals(start, start + hours * HOUR, 3600, Measures.OFFERED, {"ingest": source}, keys)


def write(directory: Directory, *arrivals: Arrivals) -> str:
    return write_history(iter(arrivals), directory, "calls", arrivals[0].start, arrivals[-1].end)


def read(directory: Directory, first: int, last: int, snapshot: str | None = None) -> list[DailyKeyCounts]:
    start, end = (datetime(2003, 3, day, tzinfo=UTC) for day in (first, last + 1))
    return read_key_histograms(directory, "calls", start, end, snapshot)


class HistoryKeysContract(HistoryDirectory):
    """See HistoryDirectory."""

    def test_histograms__come_back_by_day_and_source_most_frequent_first(self, directory: Directory) -> None:
        third, mail = histogram(3, zoe=60, anna=50, mia=50), histogram(3, "mail", x=2)
        fourth = histogram(4, anna=9)
        write(directory, told(START, 24, mail, third), told(START + DAY, 24, fourth))
        assert read(directory, 3, 4) == [third, mail, fourth]
        assert list(read(directory, 3, 3)[0].heavy) == ["zoe", "anna", "mia"]
        assert read(directory, 4, 9) == [fourth]
        assert read(directory, 8, 9) == []

    def test_histogram_without_heavy_keys_and_empty_key__are_kept_too(self, directory: Directory) -> None:
        given = [
            DailyKeyCounts("a", date(2003, 3, 3), {}, 7, 0, 0),
            DailyKeyCounts("b", date(2003, 3, 3), {"": 1, "ü": 1}, 0, distinct_keys=2),
        ]
        write(directory, told(START, 24, *given))
        assert read(directory, 3, 3) == given

    def test_histograms_of_before__do_not_tell_how_many_keys_there_were(self) -> None:
        told = histograms_table([DailyKeyCounts("a", date(2003, 3, 3), {"x": 2}, 7, 1, 9)])
        assert histograms_of(told.drop_columns("distinct_keys"), "2003-03-03") == {
            "a": DailyKeyCounts("a", date(2003, 3, 3), {"x": 2}, 7, 1)
        }

    def test_histogram_of_a_source_and_day__replaces_the_older_one_and_no_other(self, directory: Directory) -> None:
        old, mail = histogram(3, anna=9), histogram(3, "mail", x=2)
        first = write(directory, told(START, 12, old, mail))
        new = histogram(3, anna=20)
        write(directory, told(START, 18, new))
        assert read(directory, 3, 3) == [new, mail]
        assert read(directory, 3, 3, first) == [old, mail]

    def test_histogram_of_a_few_hours__does_not_replace_that_of_the_day(self, directory: Directory) -> None:
        of_day, of_hours = histogram(3, anna=24), histogram(3, anna=2)
        write(directory, told(START, 24, of_day))
        write(directory, told(START + 6 * HOUR, 2, of_hours, histogram(3, "mail", x=2)))
        assert read(directory, 3, 3) == [of_day, histogram(3, "mail", x=2)]

    def test_day_that_is_written_as_a_whole__keeps_no_histogram_of_before(self, directory: Directory) -> None:
        write(directory, told(START, 24, histogram(3, anna=9)))
        alive = np.array([[0, 2**62]])
        rows = history_rows("calls", "ingest", np.full(24, 4), alive, start=START, window_s=3600)
        write_history(rows, directory, "calls", START, START + DAY)
        assert read(directory, 3, 3) == []

    def test_histograms__lie_where_readers_of_parquet_folders_do_not_look(
        self, directory: Directory, kept: Path
    ) -> None:
        write(directory, told(START, 24, histogram(3, anna=9)))
        names = sorted(path.name[:5] for path in (kept / "topology=calls" / "date=2003-03-03").iterdir())
        assert names == ["_keys", "part-"]
        assert read_history(directory, "calls").series["ingest"].counts.tolist() == [5] * 24

    def test_damaged_histograms__are_named_and_building_the_day_again_mends_them(
        self, directory: Directory, kept: Path
    ) -> None:
        write(directory, told(START, 24, histogram(3, anna=9)))
        path = next(kept.rglob("_keys-*"))
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(HistoryError, match=r"_keys-.*is damaged.*build the history of the whole date=2003-03-03"):
            read(directory, 3, 3)
        write(directory, told(START, 24, histogram(3, anna=10)))
        assert read(directory, 3, 3) == [histogram(3, anna=10)]

    def test_history_never_written__has_no_histograms_to_read(self, directory: Directory) -> None:
        with pytest.raises(HistoryError, match="topology 'calls' has no arrival history"):
            read(directory, 3, 3)
