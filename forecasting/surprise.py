"""Detects a level shift by comparing the last hour with the forecast made an hour ago, so that persistence takes over.

Forecasters with a level take an error of many usual sizes for a passing event. If it does not pass, they stay below the
load for as long as a day.
"""

from collections.abc import Mapping

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.time_grid import oldest
from forecasting.peaks import path_quantiles

STAND_IN = "persistence"
ASKED = ("time_of_week", "ridge_fourier", "harmonic_arima", "prophet")
"""The forecaster used is the first of these that is present. They differ little here."""
SPAN_S = 3600
MIN_STEPS = 3
LEVEL = 0.99
PATHS = 100


def surprised(fitted: Mapping[str, FittedForecaster], recent: ArrivalSeries, seed: int) -> bool:
    """Whether every known rate of the last hour (of the last three steps if those are longer) exceeds the p99 that
    would have been forecast before it.

    Errors within an hour are correlated, so chance may cause it at most once in a hundred hours, at the cost of an hour
    of persistence.
    """
    name = next((name for name in ASKED if name in fitted), None)
    steps = max(MIN_STEPS, SPAN_S // recent.window_s)
    if name is None or recent.counts.size <= 2 * steps:
        return False
    actual_per_s = recent.rate_per_s()[-steps:]
    known = np.isfinite(actual_per_s)
    if known.sum() < MIN_STEPS or not (actual_per_s[known] > 0).all():
        return False
    before = oldest(recent, recent.counts.size - steps)
    paths_per_s = fitted[name].paths_per_s(before, steps, PATHS, np.random.default_rng(seed))
    return bool((actual_per_s[known] > path_quantiles(paths_per_s, [LEVEL])[known, 0]).all())
