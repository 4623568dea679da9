"""Closures that stand alone: a first closed Sunday, a holiday, a feed that stopped while its zeros counted.

Such a day says nothing of how busy an open hour is: learnt as low load it lowers and widens all other days. Forecasters
take it for missing. Closures that come back every week are closed hours instead (open_hours).
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from forecasting.arrays import Flags
from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.open_hours import EXPECTED_EVENTS, learn_open_hours
from forecasting.models.time_grid import DAY_S

MIN_S = 6 * 3600
MIN_LOST_DAYS = 0.75
"""Least loss, in usual days. Nights that are empty now and then lose less."""
MAX_ONGOING_DAYS = 1.5
"""Of a closure that has not ended: a longer one may be the end of the load."""
MAX_SHARE = 0.25
"""Of the open windows. The p95 of the other days is the p96 of all or less; what is closed more often is a habit."""
NEWEST_S = 7200
"""What is measured now counts, whatever it is."""


@lru_cache(maxsize=4)
def without_closures(series: ArrivalSeries) -> ArrivalSeries:
    """The series with its lone closures missing; the same object if it has none."""
    closed = lone_closures(series)
    return replace(series, counts=np.where(closed, np.nan, series.counts)) if closed.any() else series


def lone_closures(series: ArrivalSeries) -> Flags:
    """The usually open windows of spans without arrivals that lost most of a usual day, shape (windows,).

    None if they are more than MAX_SHARE of all open windows.
    """
    counts, size = series.counts, series.counts.size
    closed = np.zeros(size, dtype=np.bool_)
    busy = np.flatnonzero(counts > 0)
    edges = np.concatenate([[-1], busy, [size]])
    long = np.flatnonzero(np.diff(edges) * series.window_s > MIN_S)
    if not busy.size or not long.size:
        return closed
    usable = learn_open_hours(series).open_mask(series.start, size) & np.isfinite(counts)
    spans = [slice(int(edges[at]) + 1, int(edges[at + 1])) for at in long]
    usual = usable.copy()
    for span in spans:
        usual[span] = False
    if not usual.any():
        return closed
    mean = float(counts[usual].mean())
    usual_day = mean * float(usable.sum()) * DAY_S / series.span_s
    for span in spans:
        lost = mean * float(usable[span].sum())
        ended = span.stop < size or lost <= MAX_ONGOING_DAYS * usual_day
        closed[span] = usable[span] & (ended and lost >= max(EXPECTED_EVENTS, MIN_LOST_DAYS * usual_day))
    if closed.sum() > MAX_SHARE * usable.sum():
        return np.zeros(size, dtype=np.bool_)
    closed[max(0, size - NEWEST_S // series.window_s) :] = False
    return closed
