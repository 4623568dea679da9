"""Traces as CSV files."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from forecasting.errors import HistoryError
from forecasting.trace_file import read_local_trace, read_trace


def trace(folder: Path, *rows: str, head: str = "timestamp,count") -> Path:
    path = folder / "calls.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_trace__has_the_width_that_most_rows_are_apart_and_gaps_are_missing(tmp_path: Path) -> None:
    rows = ("2003-03-03T07:00:00Z,4", "2003-03-03T07:05:00Z,0", "2003-03-03T07:20:00Z,2.5", "2003-03-03T07:25:00Z,")
    series = read_trace(trace(tmp_path, *rows))
    assert (series.source, series.window_s, series.start) == ("calls", 300, datetime(2003, 3, 3, 7, tzinfo=UTC))
    nan = np.nan
    assert series.counts.tolist() == pytest.approx([4, 0, nan, nan, 2.5, nan], nan_ok=True)


def test_times__have_an_offset_or_are_in_utc_and_other_columns_are_passed_over(tmp_path: Path) -> None:
    rows = ("x,1,2003-03-03T08:00:00+01:00", "y,2,2003-03-03 07:30:00")
    series = read_trace(trace(tmp_path, *rows, head="note,count,timestamp"))
    assert (series.start, series.window_s) == (datetime(2003, 3, 3, 7, tzinfo=UTC), 1800)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (["2003-03-03T07:00:00Z,1", "2003-03-03T07:05:00Z,-2"], r"row 3: count '-2'; give a number"),
        (["2003-03-03T07:00:00Z,inf", "2003-03-03T07:05:00Z,2"], r"row 2: count 'inf'"),
        (["2003-03-03T07:00:00Z,many", "2003-03-03T07:05:00Z,2"], r"row 2: count 'many'"),
        (["noon,1", "2003-03-03T07:05:00Z,2"], r"row 2: timestamp 'noon' is no time; write ISO 8601"),
        (["2003-03-03T07:05:00Z,1", "2003-03-03T07:00:00Z,2"], r"row 3: timestamp .*07:00:00Z does not come after"),
        (["2003-03-03T07:00:00Z,1", "2003-03-03T07:00:00Z,2"], r"does not come after .*one per window"),
        (
            ["2003-03-03T07:00:00Z,1", "2003-03-03T07:05:00Z,2", "2003-03-03T07:10:00Z,3", "2003-03-03T07:11:00Z,4"],
            r"row 5: timestamp 2003-03-03T07:11:00Z is not on the grid of 300 s",
        ),
        (["2003-03-03T07:00:00Z,1e308", "2003-03-03T07:05:00Z,2"], r"row 2: count '1e308'; give a number from 0 to"),
        (["1900-01-01T00:00:00Z,1", "1900-01-01T01:00:00Z,2"], r"row 2: .*1900.* is not between 1970 and 2200"),
        (["2003-01-01T00:00:00Z,1", "2250-01-01T01:00:00Z,2"], r"row 3: .*2250.* is not between 1970 and 2200"),
        (["2003-03-03T07:00:00Z,1\0", "2003-03-03T07:05:00Z,2"], "holds a null byte"),
        (["2003-03-03T07:00:00Z,1_0", "2003-03-03T07:05:00Z,2"], r"row 2: count '1_0'"),
        (["2003-03-03T07:00:00Z,１", "2003-03-03T07:05:00Z,2"], r"row 2: count '１'"),
        (["2003-03-03T07:00:00Z,1", "2003-03-03T07:05:00Z,1,234"], r"Row #3: Expected 2 columns, got 3"),
        (["2003-03-03T07:00:00Z,1,234", "2003-03-03T07:05:00Z,1,235"], r"Row #2: Expected 2 columns, got 3"),
        (["2003-03-03T07:00:00Z,1", "2003-03-03T07:05:00Z"], r"Row #3: Expected 2 columns, got 1"),
        (["2003-03-03T07:00:00Z,1"], "has 1 rows"),
        ([], "has 0 rows"),
        (["1973-01-01T00:00:00Z,1", "1973-01-01T00:00:01Z,1", "2003-03-03T07:00:00Z,1"], "correct the timestamps"),
    ],
)  # fmt: skip
def test_trace__that_cannot_be_used_is_refused_with_row_value_and_remedy(
    tmp_path: Path, rows: list[str], complaint: str
) -> None:
    with pytest.raises(HistoryError, match=complaint):
        read_trace(trace(tmp_path, *rows))


def test_trace__with_a_column_twice_is_refused(tmp_path: Path) -> None:
    rows = ("2003-03-03T07:00:00Z,1,7", "2003-03-03T07:05:00Z,2,8")
    with pytest.raises(HistoryError, match="has the column 'count' twice"):
        read_trace(trace(tmp_path, *rows, head="timestamp,count,count"))


def test_trace__without_its_columns_or_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="has no column 'count'; name its columns timestamp and count"):
        read_trace(trace(tmp_path, "2003-03-03T07:00:00Z,1", head="timestamp,value"))
    with pytest.raises(HistoryError, match=r"nowhere\.csv does not exist"):
        read_trace(tmp_path / "nowhere.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(HistoryError, match=r"empty\.csv cannot be read as CSV"):
        read_trace(tmp_path / "empty.csv")


def test_times_without_an_offset__are_those_of_the_named_zone_and_counted(tmp_path: Path) -> None:
    rows = ("2003-03-03T08:00:00,1", "2003-03-03T08:30:00+01:00,2", "2003-03-03T09:00:00,3")
    read = read_local_trace(trace(tmp_path, *rows), "Europe/Berlin")
    assert (read.series.start, read.series.timezone) == (datetime(2003, 3, 3, 7, tzinfo=UTC), "Europe/Berlin")
    assert (read.series.counts.tolist(), read.bare_times) == ([1, 2, 3], 2)
    assert read_local_trace(trace(tmp_path, *rows[:1], "2003-03-03T08:30:00,1"), "UTC").bare_times == 2


def test_a_repeated_hour__is_its_first_and_where_it_stands_twice_both(tmp_path: Path) -> None:
    # Berlin's clocks go back from 3:00 to 2:00 on 26 October 2003: 2:00 is 0:00 UTC, then 1:00 UTC.
    hours = [*(f"2003-10-26T0{hour}:00:00" for hour in (1, 2, 2, 3, 4))]
    twice = read_local_trace(trace(tmp_path, *(f"{at},{n}" for n, at in enumerate(hours))), "Europe/Berlin").series
    assert (twice.start, twice.counts.tolist()) == (datetime(2003, 10, 25, 23, tzinfo=UTC), [0, 1, 2, 3, 4])
    once = [*hours[:2], *hours[3:], "2003-10-26T05:00:00"]
    seen = read_local_trace(trace(tmp_path, *(f"{at},{n}" for n, at in enumerate(once))), "Europe/Berlin").series
    assert seen.counts.tolist() == pytest.approx([0, 1, np.nan, 2, 3, 4], nan_ok=True)


def test_a_skipped_hour__is_refused_with_its_row(tmp_path: Path) -> None:
    rows = [f"2003-03-30T0{hour}:00:00,1" for hour in (1, 2, 3)]
    with pytest.raises(HistoryError, match=r"row 3: the clock of Europe/Berlin skips 2003-03-30T02:00:00; give .* UTC"):
        read_local_trace(trace(tmp_path, *rows), "Europe/Berlin")
