"""Dynamic harmonic regression: Fourier terms for the seasons, ARMA(2,1) errors (Hyndman & Athanasopoulos, FPP3).

Seasonal ARIMA at a period of 288 does not come to an end; this gives the same in a second. Heavy: statsmodels is
imported when it is first fitted.
"""

import importlib.util
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecaster import FittedForecaster
from forecasting.models.enough_history import refuse_unless, why_constant, why_too_little
from forecasting.models.open_hours import OpenHours, learn_open_hours
from forecasting.models.residual_correction import corrected
from forecasting.models.slow_level import WeeklyLevel
from forecasting.models.time_grid import WEEK_S, newest, week_slots, weekend_slots, windows_per_day
from forecasting.models.transform import Transform
from forecasting.models.transform_choice import chosen_transform
from forecasting.models.weekly_profile import drawn_in, weekly_profile

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RECENT_WEEKS = 4
DAILY_ORDER = 6
WEEKLY_ORDER = 3
ORDER = (2, 0, 1)


@dataclass(frozen=True)
class ArmaMemory:
    """How ARMA(2,1) errors go on: e[t] = ar1 e[t-1] + ar2 e[t-2] + shock[t] + ma1 shock[t-1]."""

    ar1: float
    ar2: float
    ma1: float

    def anticipated(self, errors: Floats, origins: Ints, ahead: int) -> Floats:
        last, before, shock = self._states(errors, origins)
        expected = np.empty((origins.size, ahead))
        for lead in range(ahead):
            following = self.ar1 * last + self.ar2 * before + self.ma1 * shock
            expected[:, lead] = following
            last, before, shock = following, last, np.zeros_like(shock)
        return expected

    def _states(self, errors: Floats, origins: Ints) -> tuple[Floats, Floats, Floats]:
        """The last two errors and the last shock before each origin; where nothing is known, what was expected."""
        states = np.zeros((errors.size + 1, 3))
        last = before = shock = 0.0
        for at, error in enumerate(errors.tolist()):
            expected = self.ar1 * last + self.ar2 * before + self.ma1 * shock
            # NaN is the only value that is not equal to itself.
            observed = expected if error != error else error
            last, before, shock = observed, last, observed - expected
            states[at + 1] = last, before, shock
        chosen = states[origins]
        return chosen[:, 0], chosen[:, 1], chosen[:, 2]


class HarmonicArimaForecaster:
    """ARIMA(2,0,1) with Fourier terms of the day (weekdays and weekends apart) and the week, on the last four weeks."""

    name = "harmonic_arima"
    naive = False

    def why_not(self, series: ArrivalSeries) -> str | None:
        if importlib.util.find_spec("statsmodels") is None:
            return "statsmodels is not installed; install forescale[forecast]"
        return why_too_little(series, days=3) or why_constant(series)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.why_not(series))
        series = newest(series, RECENT_WEEKS * WEEK_S // series.window_s)
        refuse_unless(self.name, self.why_not(series))
        transform = chosen_transform(series)
        hours = learn_open_hours(series)
        level, memory = _regression(series, transform, hours)
        return corrected(series, level, transform, hours, memory=memory)


def _regression(series: ArrivalSeries, transform: Transform, hours: OpenHours) -> tuple[WeeklyLevel, ArmaMemory]:
    from statsmodels.tsa.arima.estimators.innovations import innovations_mle

    slots = week_slots(series.start, series.window_s, series.counts.size)
    is_open = hours.open_mask(series.start, series.counts.size)
    values = np.where(is_open, transform.forward(series.counts), np.nan)
    if not np.isfinite(values).any():
        raise ForecastError("forecaster harmonic_arima: every hour is closed; a naive forecaster says as much")
    # innovations_mle takes no NaN: missing windows take the usual week. Closed hours are cut out, so that an evening is
    # followed by the next morning; bridges over them would look like errors that last for ever.
    usual = weekly_profile(series, transform, hours).level.transformed(series.start, series.counts.size)
    usual_week = np.where(np.isfinite(values), drawn_in(values, slots, series.window_s), usual)
    filled = usual_week[is_open]

    terms = fourier_terms(series.window_s)
    design = terms[slots[is_open]]
    # A kind of day that is never open has no terms.
    used = np.flatnonzero(np.ptp(design, axis=0) > 1e-9)
    design = np.column_stack([np.ones(filled.size), design[:, used]])
    # Least squares, not GLS: with errors this persistent, GLS weighs differences between neighbours and loses the level
    # (on call-centre counts its peak loss at 24 h is twice as high, elsewhere the two are alike).
    weights = np.linalg.lstsq(design, filled, rcond=None)[0]
    with warnings.catch_warnings():
        # What the estimator warns of (slow convergence, a root near the unit circle) is judged by the backtest.
        warnings.simplefilter("ignore")
        parameters, _ = innovations_mle(filled - design @ weights, order=ORDER, demean=False)
    ar, ma = np.asarray(parameters.ar_params), np.asarray(parameters.ma_params)
    if not (np.isfinite(ar).all() and np.isfinite(ma).all()):
        raise ForecastError("forecaster harmonic_arima: the fit gave a parameter that is not finite; use another one")
    level = weights[0] + terms[:, used] @ weights[1:]
    return WeeklyLevel(series.window_s, level), ArmaMemory(float(ar[0]), float(ar[1]), float(ma[0]))


def fourier_terms(window_s: int) -> Floats:
    """Sines and cosines of the day on weekdays, of the day on weekends and of the week, and a weekend step.

    Shape (slots of the week, terms).
    """
    per_day = windows_per_day(window_s)
    slots = np.arange(7 * per_day)
    weekend = weekend_slots(window_s)
    columns = [weekend.astype(float)]
    for order in range(1, DAILY_ORDER + 1):
        angle = 2 * np.pi * order * slots / per_day
        for wave in (np.sin(angle), np.cos(angle)):
            columns += [wave, wave * weekend]
    for order in range(1, WEEKLY_ORDER + 1):
        angle = 2 * np.pi * order * slots / (7 * per_day)
        columns += [np.sin(angle), np.cos(angle)]
    return np.column_stack(columns)
