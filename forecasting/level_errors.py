"""Ratios of actual to expected load per span, which show whether sources err together or independently."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.local_time import moments_before_s
from forecasting.models.time_grid import WEEK_S

KNOWN_SHARE = 0.8
"""Minimum share of a span's windows with both actual and expected load known."""

LevelErrors = Mapping[int, float]
"""Actual over expected load of a span, by the epoch second at which the span begins."""


def week_errors(history: ArrivalSeries, end: datetime, span_s: int) -> LevelErrors:
    """Errors of repeating the last week in the source's local time, over the consecutive spans before `end`.

    Steady growth is the same factor in each span and so creates no dependence; comparing with the mean week would.
    """
    steps, week = span_s // history.window_s, WEEK_S // history.window_s
    last = int((end - history.start).total_seconds()) // history.window_s
    starts = np.arange(last - steps, week - 1, -steps, dtype=np.int64)
    starts = starts[starts + steps <= history.counts.size]
    at = starts[:, None] + np.arange(steps)
    first_s = int(history.start.timestamp())
    before = (moments_before_s(first_s + at * history.window_s, WEEK_S, history.timezone) - first_s) // history.window_s
    # If the clock was set back in between, the week before the first spans begins an hour before the history.
    usual = np.where(before >= 0, history.counts[before], np.nan)
    begins_s = first_s + starts * history.window_s
    return _errors(begins_s.tolist(), history.counts[at], usual)


def forecast_errors(past: Sequence[Forecast], history: ArrivalSeries, end: datetime, span_s: int) -> LevelErrors:
    """Errors of the medians of past forecasts of this source that began a whole number of spans before `end`.

    Only their first span counts; paths are not needed. Forecasts with steps unlike the history's windows are ignored.
    """
    steps, first_s = span_s // history.window_s, int(history.start.timestamp())
    begins_s, actual, expected = [], [], []
    for each in past:
        begin_s = int(each.start.timestamp())
        at = (begin_s - first_s) // history.window_s
        ahead_s = int(end.timestamp()) - begin_s
        comparable = each.step_s == history.window_s and each.rate_per_s.shape[0] >= steps and 0.5 in each.quantiles
        if comparable and ahead_s > 0 and ahead_s % span_s == 0 and 0 <= at <= history.counts.size - steps:
            begins_s.append(begin_s)
            actual.append(history.counts[at : at + steps])
            expected.append(each.rate_per_s[:steps, each.quantiles.index(0.5)] * each.step_s)
    return _errors(begins_s, np.array(actual), np.array(expected)) if begins_s else {}


def common_errors(errors: Mapping[str, LevelErrors]) -> dict[str, Floats]:
    """Errors by source over the spans known for all sources, oldest first; shape (spans,)."""
    spans = sorted(set.intersection(*(set(each) for each in errors.values())))
    return {source: np.array([each[begin_s] for begin_s in spans]) for source, each in errors.items()}


def in_steps(history: ArrivalSeries | None, step_s: int) -> ArrivalSeries | None:
    """The history resampled; None if it is too short for a step or its windows do not fill one."""
    try:
        return None if history is None else history.resampled(step_s)
    except HistoryError:
        return None


def _errors(begins_s: Sequence[int], actual: Floats, expected: Floats) -> LevelErrors:
    """actual, expected: shape (spans, steps). Spans with too few known steps or no expected load are left out."""
    known = np.isfinite(actual) & np.isfinite(expected)
    total, usual = (np.where(known, each, 0.0).sum(axis=1) for each in (actual, expected))
    tells = (known.mean(axis=1) >= KNOWN_SHARE) & (usual > 0)
    return {begins_s[row]: float(total[row] / usual[row]) for row in np.flatnonzero(tells).tolist()}
