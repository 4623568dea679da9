"""Rows of the arrival history."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forecasting.arrivals.arrival_source import TALLIES, Arrivals, Measures, SourceArrivals
from forecasting.arrivals.history import COLUMNS
from forecasting.arrivals.rows import SCHEMA, checked_rows, history_rows, rows_of
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError

RowsFrom = Callable[..., pa.Table]
START = datetime(2003, 3, 3, tzinfo=UTC)
HOUR_US = 3600 * 1_000_000
START_US = int(START.timestamp()) * 1_000_000


def spans(*hours: tuple[float, float]) -> np.ndarray:
    """Spans in hours after START."""
    return (np.array(hours, dtype=float).reshape(-1, 2) * HOUR_US).astype(np.int64) + START_US


def told(measures: Measures = Measures.OFFERED, **sources: SourceArrivals) -> Arrivals:
    return Arrivals(START, START + timedelta(hours=5), 3600, measures, sources)


def test_rows_of__gives_the_first_status_that_holds_of_missing_partial_throttled_observed() -> None:
    # Alive from 1:00 on, in the hour from 3:00 for half of it only; held back from 2:30 on.
    alive, held_back = spans((1, 3.5), (4, 9)), spans((2.5, 9))
    source = SourceArrivals(np.array([0, 5, 6, 7, 8]), alive, held_back)
    rows = rows_of("calls", told(ingest=source))
    assert rows["status"].to_pylist() == ["missing", "observed", "throttled", "partial", "throttled"]
    assert rows["count"].to_pylist() == [None, 5, 6, 7, 8]


def test_rows_of__holds_every_source_and_window_with_its_tallies_and_what_was_measured() -> None:
    late = np.array([0, 1, 0, 0, 2])
    mail = SourceArrivals(np.arange(5), spans((0, 5)), tallies={"late": late, "rows_read": np.arange(5) + late})
    calls = SourceArrivals(np.arange(5) * 10, spans((0, 5)))
    rows = rows_of("office", told(Measures.THROUGHPUT, mail=mail, calls=calls))
    assert rows.schema == SCHEMA
    assert tuple(rows.column_names) == (*COLUMNS, "measures", *TALLIES)
    assert rows["source"].to_pylist() == ["calls"] * 5 + ["mail"] * 5
    assert rows["count"].to_pylist() == [0, 10, 20, 30, 40, 0, 1, 2, 3, 4]
    assert rows["window_start"].to_pylist() == [START + timedelta(hours=hour) for hour in range(5)] * 2
    assert set(rows["measures"].to_pylist()) == {"throughput"}
    assert rows["late"].to_pylist() == [0] * 5 + [0, 1, 0, 0, 2]
    assert rows["rows_read"].to_pylist() == [0] * 5 + [0, 2, 2, 3, 6]
    assert rows["future"].to_pylist() == [0] * 10


def test_rows_of__no_source_is_no_row() -> None:
    assert rows_of("calls", told()).num_rows == 0


def test_rows_without_the_later_columns__tell_of_offered_load_and_one_row_read_per_event(rows_from: RowsFrom) -> None:
    rows, _ = checked_rows(rows_from("2003-03-03", [5, None, "~3"]), "calls")
    assert rows.schema == SCHEMA
    assert rows["measures"].to_pylist() == ["offered"] * 3
    assert rows["rows_read"].to_pylist() == [5, 0, 3]
    assert rows["duplicates"].to_pylist() == [0, 0, 0]


def test_history_rows__are_alike() -> None:
    rows = history_rows("calls", "ingest", np.array([3, 0]), spans((0, 2)), start=START, window_s=3600)
    assert rows["rows_read"].to_pylist() == [3, 0]
    assert rows["status"].to_pylist() == ["observed", "observed"]


def test_throttled_windows__are_no_offered_load_in_the_series(tmp_path: Path) -> None:
    source = SourceArrivals(np.array([4, 5, 6, 7, 8]), spans((0, 5)), spans((1, 2), (3, 4)))
    rows = rows_of("calls", told(Measures.THROUGHPUT, ingest=source))
    write_history(rows, tmp_path, "calls", START, START + timedelta(hours=5))
    counts = read_history(tmp_path, "calls").series["ingest"].counts
    assert counts.tolist() == pytest.approx([4, np.nan, 6, np.nan, 8], nan_ok=True)


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("status", "alive", "status 'alive' is unknown; known are missing, observed, partial, throttled"),
        ("measures", "guesses", "measures 'guesses' is unknown; known are offered, throughput"),
        ("late", -1, "tally late holds -1; a number of rows is not negative"),
        ("late", None, "rows do not fit the columns .* 'late' with null values"),
    ],
)
def test_rows__that_nobody_can_read_are_refused(column: str, value: str | int | None, complaint: str) -> None:
    rows = history_rows("calls", "ingest", np.array([3]), spans((0, 1)), start=START, window_s=3600)
    at = rows.column_names.index(column)
    rows = rows.set_column(at, column, pa.array([value], SCHEMA.field(column).type))
    with pytest.raises(HistoryError, match=complaint):
        checked_rows(rows, "calls")


def test_throttled_window__without_a_count_is_refused(rows_from: RowsFrom) -> None:
    rows = rows_from("2003-03-03", [None])
    rows = rows.set_column(rows.column_names.index("status"), "status", pa.array(["throttled"]))
    with pytest.raises(HistoryError, match="count None of source 'ingest' in the throttled window"):
        checked_rows(rows, "calls")
