"""The grid of windows."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from forecasting.arrivals.grid import from_us, to_us, whole_windows
from forecasting.errors import HistoryError


def test_microseconds__are_exact_far_from_the_epoch() -> None:
    # 2003-03-03 is 12114 days after 1970-01-01: 33 years of 365 days are 12045, 8 leap days, 31 + 28 + 2 days of 2003.
    moment = datetime(2003, 3, 3, 0, 0, 0, 1, tzinfo=UTC)
    assert to_us(moment) == 12114 * 86_400_000_000 + 1
    assert from_us(to_us(moment)) == moment


def test_microseconds__take_any_zone() -> None:
    berlin_summer = timezone(timedelta(hours=2))
    assert to_us(datetime(1970, 1, 1, 2, tzinfo=berlin_summer)) == 0


def test_microseconds__refuse_a_time_without_a_zone() -> None:
    with pytest.raises(HistoryError, match="has no time zone; give it in UTC"):
        to_us(datetime(2003, 3, 3))


def test_interval__begins_with_the_window_that_holds_its_start_and_ends_with_the_last_that_is_over() -> None:
    start, end = datetime(2003, 3, 3, 7, 0, 30, tzinfo=UTC), datetime(2003, 3, 3, 7, 9, 59, tzinfo=UTC)
    assert whole_windows(start, end, 300) == (start.replace(second=0), end.replace(minute=5, second=0))


def test_interval__in_which_no_window_ends__is_refused() -> None:
    start, end = datetime(2003, 3, 3, 7, 0, tzinfo=UTC), datetime(2003, 3, 3, 7, 4, tzinfo=UTC)
    with pytest.raises(HistoryError, match=r"no window of 300 s is over between .* give a longer interval"):
        whole_windows(start, end, 300)
