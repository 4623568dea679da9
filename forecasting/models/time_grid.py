"""The position of a window in its day and week, which seasonal forecasters use as an index.

Both follow the series' grid: UTC or the wall clock (local_time).
"""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Flags, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError

DAY_S = 86400
WEEK_S = 7 * DAY_S
# 1970-01-01 was a Thursday: with three days added, slot 0 of the week is Monday 00:00.
_EPOCH_TO_MONDAY_S = 3 * DAY_S


def windows_per_day(window_s: int) -> int:
    """Windows in a day. Raises ForecastError unless they fill it evenly."""
    if window_s <= 0 or DAY_S % window_s:
        raise ForecastError(f"step of {window_s} s does not divide a day; use for example 300, 900 or 3600 s")
    return DAY_S // window_s


def week_slots(start: datetime, window_s: int, count: int) -> Ints:
    """Slot of the week, 0 at Monday 00:00, of `count` windows from start; shape (count,)."""
    first = (int(start.timestamp()) + _EPOCH_TO_MONDAY_S) // window_s
    return (first + np.arange(count, dtype=np.int64)) % (7 * windows_per_day(window_s))


def weekend_slots(window_s: int) -> Flags:
    """Whether each slot of the week falls on a Saturday or Sunday; shape (slots of the week,)."""
    per_day = windows_per_day(window_s)
    return np.arange(7 * per_day) >= 5 * per_day


def newest(series: ArrivalSeries, windows: int) -> ArrivalSeries:
    """The last `windows` windows, or all if there are fewer."""
    dropped = max(0, series.counts.size - windows)
    start = series.start + timedelta(seconds=dropped * series.window_s)
    return replace(series, start=start, counts=series.counts[dropped:])


def oldest(series: ArrivalSeries, windows: int) -> ArrivalSeries:
    """The first `windows` windows, at least one."""
    return replace(series, counts=series.counts[: max(1, windows)])
