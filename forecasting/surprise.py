"""Whether a load has left what forecasters know: then they hold on to a level that is gone, and persistence does not.

Forecasters with a level take an error of many usual sizes for an event that will pass. Where it does not, they stay
below the load that is there for as long as a day. What a forecaster would have said an hour ago tells.
"""

from collections.abc import Mapping

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.time_grid import oldest
from forecasting.peaks import path_quantiles

STAND_IN = "persistence"
ASKED = ("time_of_week", "ridge_fourier", "harmonic_arima", "prophet")
"""The forecaster that is asked: the first of these that is there. They differ little in this."""
SPAN_S = 3600
FEWEST_STEPS = 3
LEVEL = 0.99
PATHS = 100


def surprised(fitted: Mapping[str, FittedForecaster], recent: ArrivalSeries, seed: int) -> bool:
    """Whether every known rate of the last hour (of the last three steps where they are longer) lies above the p99 that
    was to be said of it before.

    Errors of one hour hang together, so that chance alone may do it now and then, once in a hundred hours at most; it
    then costs an hour of persistence.
    """
    name = next((name for name in ASKED if name in fitted), None)
    steps = max(FEWEST_STEPS, SPAN_S // recent.window_s)
    if name is None or recent.counts.size <= 2 * steps:
        return False
    came = recent.rate_per_s()[-steps:]
    known = np.isfinite(came)
    if known.sum() < FEWEST_STEPS or not (came[known] > 0).all():
        return False
    before = oldest(recent, recent.counts.size - steps)
    said = fitted[name].paths_per_s(before, steps, PATHS, np.random.default_rng(seed))
    return bool((came[known] > path_quantiles(said, [LEVEL])[known, 0]).all())
