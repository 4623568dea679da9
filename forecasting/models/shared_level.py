"""The level of a young source relative to a sibling, estimated from its few hours, with its uncertainty.

Hourly mean counts are compared with the sibling's usual week, so that the young source's noise within the hour is not
taken for a difference in shape.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from forecasting.arrays import Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.residual_correction import CorrectedForecaster, standardised_errors
from forecasting.models.time_grid import DAY_S, week_slots, windows_per_day

HOUR_S = 3600
TYPICAL = 0.8
"""Mean absolute error in usual sizes (a usual size is 1.25 times the mean absolute error)."""
STEADYING_HOURS = 6.0
"""Weight, in hours, of the prior that a source errs like its sibling: the error size of few hours is shrunk towards it.
"""
MIN_MISFIT, MAX_MISFIT = 0.1, 4.0
MAX_ERROR = 6.0
UNKNOWN_LOG_ERROR = 0.3
"""Log error of the level if the sibling has fewer than three days to estimate it."""
CLOSED_SHARE = 0.1
"""A source with more than this share of its usual load while the sibling is closed has other opening hours."""


@dataclass(frozen=True)
class SharedLevel:
    """ratio: young counts over those of the sibling's usual week. log_error: standard error of its logarithm.

    misfit: size of the young source's errors over those of the sibling, in units of the sibling.
    """

    ratio: float
    log_error: float
    misfit: float


def shared_level(series: ArrivalSeries, hourly: ArrivalSeries, sibling: CorrectedForecaster) -> SharedLevel | None:
    """The level of a young source over its newest windows with the sibling open, a day's worth at most.

    hourly: its hourly means; the sibling's forecaster learnt from such means. None if no level can be estimated: no
    arrivals, the sibling always closed, or the source open while the sibling is closed.
    """
    counts, known = hourly.counts, np.isfinite(hourly.counts)
    usual = sibling.transform.inverse(sibling.level.transformed(hourly.start, counts.size))
    is_open = sibling.hours.open_mask(hourly.start, counts.size)
    at = np.flatnonzero(known & is_open & (usual > 0))[-windows_per_day(hourly.window_s) :]
    ratio = _ratio(counts[at], usual[at])
    if ratio is None:
        return None
    closed = series.counts[np.isfinite(series.counts) & ~is_open]
    if closed.size and closed.mean() > CLOSED_SHARE * counts[at].mean():
        return None
    misfit = _misfit(replace(hourly, counts=counts / ratio), sibling, at)
    return SharedLevel(ratio, max(1.0, misfit) * _log_error(hourly, sibling, at), misfit)


def _ratio(counts: Floats, usual: Floats) -> float | None:
    """The ratio of medians, or of sums if a median is zero; None if even a sum is zero."""
    if not counts.size:
        return None
    for middle in (np.median, np.sum):
        above, below = float(middle(counts)), float(middle(usual))
        if above > 0 and below > 0:
            return above / below
    return None


def _misfit(alike: ArrivalSeries, sibling: CorrectedForecaster, at: Ints) -> float:
    errors = standardised_errors(alike, sibling.level, sibling.transform, sibling.hours, sibling.usual_size)[at]
    size = float(np.minimum(np.abs(errors), MAX_ERROR).mean()) / TYPICAL
    hours = at.size * alike.window_s / HOUR_S
    trust = hours / (hours + STEADYING_HOURS)
    return float(np.clip(max(size, MIN_MISFIT) ** trust, MIN_MISFIT, MAX_MISFIT))


def _log_error(hourly: ArrivalSeries, sibling: CorrectedForecaster, at: Ints) -> float:
    """Deviation of the same hours of the sibling's own days from its usual week: even a perfect sibling is this
    uncertain.
    """
    per_day = windows_per_day(hourly.window_s)
    size = sibling.errors.size
    start = sibling.errors_end - timedelta(seconds=size * sibling.window_s)
    level = sibling.level.transformed(start, size)
    of_day = week_slots(start, sibling.window_s, size) % per_day
    past = sibling.transform.inverse(level + sibling.errors * sibling.usual_size[of_day])
    usual = sibling.transform.inverse(level)
    # Past windows lie a whole number of days before those of the young source.
    back = round((hourly.end - sibling.errors_end).total_seconds() / sibling.window_s)
    same = size + back - hourly.counts.size + at
    same = same - max(0, -(-(int(same[-1]) + 1 - size) // per_day)) * per_day
    logs = []
    while same[0] >= 0:
        seen = same[np.isfinite(past[same])]
        ratio = _ratio(past[seen], usual[seen]) if 2 * seen.size >= at.size else None
        if ratio is not None:
            logs.append(np.log(ratio))
        same = same - per_day
    return float(np.std(np.clip(logs, -2.0, 2.0))) if len(logs) >= 3 else UNKNOWN_LOG_ERROR


def hourly_means(series: ArrivalSeries) -> ArrivalSeries:
    """The mean count over the hour that ends with each window; missing if most of the hour is."""
    windows = max(1, HOUR_S // series.window_s)
    if windows == 1:
        return series
    known = np.isfinite(series.counts)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, series.counts, 0.0))])
    seen = np.concatenate([[0], np.cumsum(known)])
    end = np.arange(1, series.counts.size + 1)
    begin = np.maximum(0, end - windows)
    count = seen[end] - seen[begin]
    enough = (count > 0) & (2 * count >= end - begin)
    means = np.divide(sums[end] - sums[begin], count, out=np.full(end.size, np.nan), where=enough)
    return replace(series, counts=np.maximum(means, 0.0))


def own_noise(series: ArrivalSeries, hourly: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
    """Counts over the mean of the hour that ends with them, in runs of the newest day's own windows, shape (paths,
    steps); 1 if a window is an hour. Centred hourly means would be closer but are not known yet in a forecast; they
    score worse.
    """
    windows = HOUR_S // series.window_s
    # In the first hour, use the mean since its beginning.
    first = max(windows - 1, series.counts.size - DAY_S // series.window_s)
    counts, means = series.counts[first:], hourly.counts[first:]
    known = np.isfinite(counts) & (means > 0)
    shares = counts[known] / means[known]
    if windows < 2 or not shares.size:
        return np.ones((paths, steps))
    begins = rng.integers(shares.size, size=paths)
    return np.asarray(shares[(begins[:, None] + np.arange(steps)) % shares.size])
