"""The arrival history as a value."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from forecasting.errors import HistoryError

START = datetime(2003, 3, 3, 7, tzinfo=UTC)


def series(counts: list[float], start: datetime = START, window_s: int = 60) -> ArrivalSeries:
    return ArrivalSeries("calls", "ingest", start, window_s, np.array(counts, dtype=float))


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [([], "is empty"), ([1, -1], "count -1 in the window at 2003-03-03T07:01:00"), ([np.inf], "count inf")],
)
def test_series__refuses_what_cannot_be_counts(counts: list[float], complaint: str) -> None:
    with pytest.raises(HistoryError, match=complaint):
        series(counts)


def test_series__refuses_a_start_without_a_zone_and_an_empty_window() -> None:
    with pytest.raises(HistoryError, match="has no time zone"):
        series([1], START.replace(tzinfo=None))
    with pytest.raises(HistoryError, match="window of 0 s"):
        series([1], window_s=0)


def test_rate__is_events_per_second_and_nan_where_missing() -> None:
    # 120 events in 60 s are 2 per second.
    assert series([120, np.nan]).rate_per_s().tolist() == pytest.approx([2.0, np.nan], nan_ok=True)


def test_between__keeps_windows_that_lie_wholly_inside() -> None:
    cut = series([1, 2, 3, 4]).between(START + timedelta(seconds=30), START + timedelta(seconds=200))
    assert (cut.start, cut.counts.tolist()) == (START + timedelta(seconds=60), [2, 3])


def test_between__says_what_there_is_when_nothing_lies_inside() -> None:
    with pytest.raises(HistoryError, match=r"has no window between .* it covers 2003-03-03 07:00:00"):
        series([1]).between(START + timedelta(days=1), START + timedelta(days=2))


def test_resampling__adds_up_aligned_steps_and_a_missing_window_makes_its_step_missing() -> None:
    # From 7:01 on, steps of two minutes are aligned at 7:02, 7:04 and 7:06; the windows at 7:01 and 7:08 fill none.
    coarse = series([1, 2, 3, 4, np.nan, 6, 7, 8], START + timedelta(minutes=1)).resampled(120)
    assert coarse.start == START + timedelta(minutes=2)
    assert coarse.counts.tolist() == pytest.approx([5, np.nan, 13], nan_ok=True)


def test_resampling__refuses_a_step_that_is_no_multiple_of_the_window() -> None:
    with pytest.raises(HistoryError, match=r"step of 90 s is not a multiple .* such as forecast.step_s: 120$"):
        series([1, 2]).resampled(90)


def test_digest__tells_apart_zero_from_missing_and_is_the_same_for_equal_histories() -> None:
    assert series([1, 0]).digest() != series([1, np.nan]).digest()
    history = ArrivalHistory("calls", {"ingest": series([1, 0])})
    assert history.digest() == ArrivalHistory("calls", {"ingest": series([1, 0])}).digest()


def test_history__without_a_series__is_refused() -> None:
    with pytest.raises(HistoryError, match="topology 'calls' has no arrival history; run `forescale history build`"):
        ArrivalHistory("calls", {})
