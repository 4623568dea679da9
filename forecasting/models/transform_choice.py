"""Chooses the transform of a series by a quick holdout test on its last days."""

from functools import lru_cache

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.open_hours import OpenHours, learn_open_hours
from forecasting.models.residual_correction import corrected
from forecasting.models.time_grid import oldest, week_slots, windows_per_day
from forecasting.models.transform import LOG, SQRT, Transform
from forecasting.models.weekly_profile import weekly_profile
from forecasting.peaks import peak_quantiles_per_s, pinball

TRIALS = 8
PATHS = 100
LEVELS = (0.9, 0.95, 0.99)


def chosen_transform(series: ArrivalSeries) -> Transform:
    """The transform with the lower pinball loss of the 6 h peak over the last three days, or the last quarter.

    The trial uses the weekly profile, the cheapest forecaster, because the scaling of errors with load depends on the
    series, not on the forecaster or the day. The choice made on a Monday lasts until the next, if a week precedes it.
    Ties, and series too short for a trial, get the square root.
    """
    slots = 7 * windows_per_day(series.window_s)
    into_week = int(week_slots(series.end, series.window_s, 1)[0])
    if series.counts.size - into_week >= slots:
        series = oldest(series, series.counts.size - into_week)
    return _chosen(series)


@lru_cache(maxsize=4)
def _chosen(series: ArrivalSeries) -> Transform:
    per_day = windows_per_day(series.window_s)
    held_out = min(3 * per_day, series.counts.size // 4)
    ahead = per_day // 4
    if held_out < 2 * ahead or not np.isfinite(series.counts[: series.counts.size - held_out]).any():
        return SQRT
    hours = learn_open_hours(oldest(series, series.counts.size - held_out))
    bound = _loss(series, SQRT, hours, held_out, ahead, np.inf)
    return LOG if _loss(series, LOG, hours, held_out, ahead, bound) < bound else SQRT


def _loss(
    series: ArrivalSeries, transform: Transform, hours: OpenHours, held_out: int, ahead: int, bound: float
) -> float:
    """The loss of the trial, or a partial loss once it reaches the bound."""
    first = series.counts.size - held_out
    train = oldest(series, first)
    profile = weekly_profile(train, transform, hours)
    fitted = corrected(train, profile.level, transform, hours, leverage=profile.leverage, leads=ahead)
    rates_per_s = series.rate_per_s()
    loss = 0.0
    for origin in np.linspace(first, series.counts.size - ahead, TRIALS).astype(int):
        if loss >= bound:
            break
        actual = rates_per_s[origin : origin + ahead]
        if not np.isfinite(actual).any():
            continue
        # A fixed seed: the same series always gets the same transform.
        paths = fitted.paths_per_s(oldest(series, int(origin)), ahead, PATHS, np.random.default_rng(0))
        forecast = peak_quantiles_per_s(paths, (ahead,), LEVELS)[0]
        loss += float(pinball(float(np.nanmax(actual)), forecast, np.array(LEVELS)).sum())
    return loss
