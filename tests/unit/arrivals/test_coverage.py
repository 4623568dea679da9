"""When the feed was alive, and what that makes of windows."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.coverage import (
    merged_spans,
    read_coverage,
    spans_between_events,
    spans_without,
    status_codes,
)
from forecasting.arrivals.grid import to_us
from forecasting.arrivals.history import STATUSES
from forecasting.errors import HistoryError

HOUR_US = 3_600_000_000


def us(hour: int, minute: int = 0) -> int:
    return to_us(datetime(2003, 3, 3, hour, minute, tzinfo=UTC))


def test_window__is_observed_partial_or_missing_by_how_much_of_it_the_feed_was_alive() -> None:
    # Alive from 1:00 to 2:30: the hour from 0:00 not at all, from 1:00 wholly, from 2:00 half, from 3:00 not at all.
    edges = np.arange(5) * HOUR_US
    spans = np.array([[1 * HOUR_US, 5 * HOUR_US // 2]])
    status = np.array(STATUSES)[status_codes(spans, edges, np.zeros(4, dtype=np.int64))]
    assert status.tolist() == ["missing", "observed", "partial", "missing"]


def test_window__that_two_spans_cover_together__is_observed() -> None:
    spans = merged_spans([(HOUR_US // 2, HOUR_US), (0, HOUR_US // 2)])
    assert np.array(STATUSES)[status_codes(spans, np.array([0, HOUR_US]), np.zeros(1, dtype=np.int64))].tolist() == [
        "observed"
    ]


def test_window__with_a_gap_of_one_microsecond__is_partial() -> None:
    spans = merged_spans([(0, 10), (11, HOUR_US)])
    assert np.array(STATUSES)[status_codes(spans, np.array([0, HOUR_US]), np.zeros(1, dtype=np.int64))].tolist() == [
        "partial"
    ]


def test_window__with_events_while_the_feed_was_not_alive__is_partial_so_that_they_count() -> None:
    nowhere = np.empty((0, 2), dtype=np.int64)
    assert np.array(STATUSES)[status_codes(nowhere, np.array([0, HOUR_US]), np.array([3]))].tolist() == ["partial"]


def test_silence__longer_than_allowed__ends_a_span_and_one_as_long_as_allowed_does_not() -> None:
    # Bins hold events at 0..4, 10..12 and 23..23; silences are 6 and 11 long.
    first, last = np.array([0, 10, 23]), np.array([4, 12, 23])
    assert spans_between_events(first, last, 11).tolist() == [[0, 23]]
    assert spans_between_events(first, last, 10).tolist() == [[0, 12], [23, 23]]
    assert spans_between_events(first, last, 5).tolist() == [[0, 4], [10, 12], [23, 23]]


def test_no_events__make_no_spans() -> None:
    none = np.empty(0, dtype=np.int64)
    assert spans_between_events(none, none, 10).shape == (0, 2)


def test_coverage_csv__holds_times_with_an_offset_and_local_ones(tmp_path: Path) -> None:
    path = tmp_path / "coverage.csv"
    # Berlin is an hour ahead of UTC in March.
    path.write_text("source,alive_from,alive_to\na,2003-03-03T07:00:00Z,2003-03-03 09:30\nb,2003-03-03,2003-03-04\n")
    spans = read_coverage(path, "Europe/Berlin")
    assert spans["a"].tolist() == [[us(7), us(8, 30)]]
    assert spans["b"].tolist() == [[us(0) - HOUR_US, us(23)]]


def test_coverage_parquet__may_list_overlapping_spans_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "coverage.parquet"
    moments = [datetime(2003, 3, 3, hour, tzinfo=UTC) for hour in (9, 7, 12, 10)]
    pq.write_table(pa.table({"source": ["a", "a"], "alive_from": moments[:2], "alive_to": moments[2:]}), path)
    assert read_coverage(path, "UTC")["a"].tolist() == [[us(7), us(12)]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("source,alive_from\na,2003-03-03\n", "has no column 'alive_to'"),
        ("source,alive_from,alive_to\n", "holds no row"),
        ("source,alive_from,alive_to\na,soon,2003-03-03\n", "row 1: alive_from is 'soon'; write an ISO 8601 time"),
        ("source,alive_from,alive_to\na,2003-03-03,\n", "row 1: alive_to is ''; write an ISO 8601 time"),
        ("source,alive_from,alive_to\n,2003-03-03,2003-03-04\n", "row 1 names no source"),
        (
            "source,alive_from,alive_to\na,2003-03-04,2003-03-03\n",
            "alive_to 2003-03-03 is before alive_from 2003-03-04",
        ),
    ],
)
def test_coverage_file__that_is_wrong__says_where_and_how(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "coverage.csv"
    path.write_text(text)
    with pytest.raises(HistoryError, match=complaint) as error:
        read_coverage(path, "UTC")
    assert str(path) in str(error.value)


def test_coverage_file__that_is_absent_or_broken__is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"nowhere\.parquet does not exist"):
        read_coverage(tmp_path / "nowhere.parquet", "UTC")
    (tmp_path / "broken.parquet").write_text("PAR1, but no more")
    with pytest.raises(HistoryError, match=r"broken\.parquet cannot be read"):
        read_coverage(tmp_path / "broken.parquet", "UTC")


def test_spans_without__takes_out_what_overlaps() -> None:
    spans, taken = np.array([[0, 10], [20, 30]]), np.array([[3, 4], [8, 22], [29, 40]])
    assert spans_without(spans, taken).tolist() == [[0, 3], [4, 8], [22, 29]]
