"""An excess over what was expected: how long it has lasted, and paths on which it goes on.

Forecasters with a level take an error of many usual sizes for a passing event. While it lasts they lie far below the
load, and if it does not pass, for as long as a day. Persistence alone would hold a flash for the whole horizon. So the
load that was just measured stays on each path for a time of its own: what has lasted for a while lasts about as long
again (the age of an event of unknown length is a uniform share of that length; Gott 1993).
"""

from collections.abc import Mapping

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.time_grid import DAY_S, oldest
from forecasting.peaks import exceeds, path_quantiles

STAND_IN = "persistence"
"""The forecaster of the load that was just measured."""
ASKED = ("time_of_week", "ridge_fourier", "harmonic_arima", "prophet")
"""The forecaster used is the first of these that is present. They differ little here."""
SPANS_S = (3600, DAY_S)
"""How far before now forecasts are asked for what was to be expected."""
LONG_S = 21600
"""An excess over what was expected a day ago that counts by itself: the p99 of an hour ago has an excess of hours on
some of its paths. A shorter one may be a day a little above its forecast, and counts if the last hour exceeded its p99.
"""
MIN_S, MIN_STEPS = 900, 2
"""A shorter excess counts as noise; 15 minutes are also what persistence takes for the present load."""
LEVEL = 0.99
PATHS, MAX_STEPS = 100, 10_000
"""Of the forecasts that are asked: an excess of windows of a second is followed back for three hours, not a day."""


def excess_s(fitted: Mapping[str, FittedForecaster], recent: ArrivalSeries, seed: int) -> float:
    """For how long, up to now, every rate has exceeded the p99 that would have been forecast before; 0 if that is not
    known of the newest one, or shorter than MIN_S.

    Errors within an hour are correlated, so chance may cause it about once in a hundred hours; a short excess changes
    little.
    """
    name = next((name for name in ASKED if name in fitted), None)
    least = max(MIN_STEPS, MIN_S // recent.window_s)
    if name is None:
        return 0.0
    lasted, exceeded = 0, True
    for span_s in SPANS_S:
        steps = max(least, min(span_s // recent.window_s, MAX_STEPS))
        if recent.counts.size <= 2 * steps or not (exceeded or steps * recent.window_s >= LONG_S):
            break
        run = _exceeded(fitted[name], recent, steps, seed)
        if exceeded or run * recent.window_s >= LONG_S:
            lasted = max(lasted, run)
        exceeded = run == steps
    return float(lasted * recent.window_s) if lasted >= least else 0.0


def _exceeded(forecaster: FittedForecaster, recent: ArrivalSeries, steps: int, seed: int) -> int:
    """How many of the last `steps` rates exceed their p99 without a gap, counted from the newest one back."""
    before = oldest(recent, recent.counts.size - steps)
    paths_per_s = forecaster.paths_per_s(before, steps, PATHS, np.random.default_rng(seed))
    # A missing rate exceeds nothing.
    above = exceeds(recent.rate_per_s()[-steps:], path_quantiles(paths_per_s, [LEVEL])[:, 0])
    return steps if above.all() else int(above[::-1].argmin())


def lasting(stand_in_per_s: Floats, lasted_s: float, window_s: int, seed: int) -> Floats:
    """Paths of the stand-in while an excess that has lasted for lasted_s goes on, 0 afterwards; the same shape, (paths,
    steps).

    Of n paths, the share lasted_s / (lasted_s + t) still has it after t seconds: half of them after as long again. All
    have it in the first step.
    """
    count, steps = stand_in_per_s.shape
    left = np.random.default_rng(seed).permutation((np.arange(count) + 0.5) / count)
    more_s = lasted_s * (1.0 / left - 1.0)
    return np.where(window_s * np.arange(steps) < more_s[:, None], stand_in_per_s, 0.0)
