"""Dynamic harmonic regression: Fourier terms for the seasons, ARMA(2,1) errors (Hyndman & Athanasopoulos, FPP3).

Seasonal ARIMA with a period of 288 does not finish; this takes milliseconds. The ARMA part is fitted by conditional
least squares (Box & Jenkins), which matches statsmodels' maximum likelihood to the second decimal in a twentieth of its
time.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # which imports its modules when they are used
from pydantic import ConfigDict, with_config

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecaster import FittedForecaster
from forecasting.models.closures import without_closures
from forecasting.models.enough_history import refuse_unless, why_constant, why_too_little
from forecasting.models.fourier_terms import fourier_terms
from forecasting.models.preparation import Prepared, prepared
from forecasting.models.residual_correction import corrected
from forecasting.models.slow_level import WeeklyLevel
from forecasting.models.time_grid import DAY_S, WEEK_S, newest, week_slots
from forecasting.models.weekly_profile import winsorised

RECENT_WEEKS = 4
DAILY_ORDER = 6
WEEKLY_ORDER = 3
MAX_MA = 0.95
MA_TOLERANCE = 1e-3
"""A tenth of its standard error over four weeks of 5-minute windows."""
MAX_ROOT = 0.995
"""Maximum root of the autoregression: closer to 1, today's error would persist into next week."""


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True)
class ArmaMemory:
    """ARMA(2,1) errors: e[t] = ar1 e[t-1] + ar2 e[t-2] + shock[t] + ma1 shock[t-1]."""

    ar1: float
    ar2: float
    ma1: float

    def anticipated(self, states: Floats, ahead: int, every: int = 1) -> Floats:
        return np.asarray(states @ _responses(self, ahead)[:, ::every])

    def states(self, errors: Floats) -> Floats:
        """The last two errors and the last shock before each window and after the last one, shape (windows + 1, 3).

        Unknown errors take their expected value.
        """
        known = np.isfinite(errors)
        edges = np.flatnonzero(np.diff(known)) + 1
        ar, ma = np.array([1.0, -self.ar1, -self.ar2]), np.array([1.0, self.ma1])
        deviations, shocks = np.zeros(errors.size), np.zeros(errors.size)
        last = before = shock = 0.0
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), errors.size], strict=True):
            if known[begin]:
                state = scipy.signal.lfiltic(ar, ma, y=[shock], x=[last, before])
                deviations[begin:end] = errors[begin:end]
                shocks[begin:end] = scipy.signal.lfilter(ar, ma, errors[begin:end], zi=state)[0]
            else:
                state = scipy.signal.lfiltic(ma, ar, y=[last, before], x=[shock])
                deviations[begin:end] = scipy.signal.lfilter(ma, ar, np.zeros(end - begin), zi=state)[0]
            before = float(deviations[end - 2]) if end - begin > 1 else last
            last, shock = float(deviations[end - 1]), float(shocks[end - 1])
        states = np.zeros((errors.size + 1, 3))
        states[1:, 0], states[2:, 1], states[1:, 2] = deviations, deviations[:-1], shocks
        return states


@lru_cache(maxsize=8)
def _responses(memory: ArmaMemory, ahead: int) -> Floats:
    """Contributions of the last error, the one before and the last shock to future errors, shape (3, ahead)."""
    ar, none = np.array([1.0, -memory.ar1, -memory.ar2]), np.zeros(ahead)
    rows = [
        scipy.signal.lfilter([1.0], ar, none, zi=scipy.signal.lfiltic([1.0], ar, y=state))[0]
        for state in ([1.0, 0.0], [0.0, 1.0])
    ]
    impulse = none.copy()
    impulse[0] = memory.ma1
    return np.stack([*rows, scipy.signal.lfilter([1.0], ar, impulse)])


class HarmonicArimaForecaster:
    """ARIMA(2,0,1) with Fourier terms of the day (weekdays and weekends apart) and the week, on the last four weeks."""

    name = "harmonic_arima"
    naive = False
    refit_after_s = DAY_S

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return why_too_little(series, days=3) or why_constant(series)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        series = without_closures(series)
        known = prepared(series)
        recent = newest(series, RECENT_WEEKS * WEEK_S // series.window_s)
        refuse_unless(self.name, self.unsuitable_because(recent))
        level, memory = _regression(recent, known)
        return corrected(recent, level, known.transform, known.hours, memory=memory)


def _regression(series: ArrivalSeries, known: Prepared) -> tuple[WeeklyLevel, ArmaMemory]:
    slots = week_slots(series.start, series.window_s, series.counts.size)
    is_open = known.is_open[-slots.size :]
    values = np.where(is_open, known.transform.forward(series.counts), np.nan)
    if not np.isfinite(values).any():
        raise ForecastError("forecaster harmonic_arima: every hour is closed; a naive forecaster does as well")
    # Missing windows take the usual week. Closed hours are cut out, so that the next morning follows the evening;
    # interpolating them would look like very persistent errors.
    usual = known.profile.level.transformed(series.start, series.counts.size)
    filled = np.where(np.isfinite(values), winsorised(values, slots, series.window_s), usual)

    terms, per_term = fourier_terms(series.window_s, DAILY_ORDER, WEEKLY_ORDER)
    rows = slots // per_term
    windows = np.bincount(rows[is_open], minlength=terms.shape[0]).astype(np.float64)
    total = np.bincount(rows[is_open], weights=filled[is_open], minlength=terms.shape[0])
    seen = windows > 0
    # Weekdays or weekends that are never open have no terms.
    used = np.flatnonzero(np.ptp(terms[seen], axis=0) > 1e-9)
    # Least squares, not GLS: with errors this persistent, GLS fits differences between neighbours and loses the level
    # (on call-centre counts its peak loss at 24 h is twice as high, elsewhere both are equal). Windows of one slot
    # share their terms, so their mean suffices.
    root = np.sqrt(windows[seen])
    design = np.column_stack([np.ones(root.size), terms[np.ix_(seen, used)]])
    weights = np.linalg.lstsq(design * root[:, None], total[seen] / root, rcond=None)[0]
    level = np.repeat(weights[0] + terms[:, used] @ weights[1:], per_term)
    return WeeklyLevel(series.window_s, level), arma_memory((filled - level[slots])[is_open])


def arma_memory(errors: Floats) -> ArmaMemory:
    """The ARMA(2,1) that minimises squared shocks. errors: without gaps; earlier ones are taken as zero.

    Once the moving average is removed, shocks are linear in the autoregression, so only ma1 is searched (variable
    projection, Golub and Pereyra 1973).
    """
    fitted = scipy.optimize.minimize_scalar(
        lambda ma1: _autoregression(errors, ma1)[2],
        bounds=(-MAX_MA, MAX_MA),
        method="bounded",
        options={"xatol": MA_TOLERANCE},
    )
    ma1 = float(fitted.x)
    ar1, ar2, _ = _autoregression(errors, ma1)
    root = float(np.abs(np.roots([1.0, -ar1, -ar2])).max(initial=0.0))
    shrink = min(1.0, MAX_ROOT / root) if root > 0 else 1.0
    return ArmaMemory(ar1 * shrink, ar2 * shrink**2, ma1)


def _autoregression(errors: Floats, ma1: float) -> tuple[float, float, float]:
    """ar1 and ar2 that minimise the squared shocks for this ma1, and that sum of squares."""
    left = scipy.signal.lfilter([1.0], [1.0, ma1], errors)
    last, before = left[:-1], left[:-2]
    with_last, with_before, both = float(left[1:] @ last), float(left[2:] @ before), float(last[1:] @ before)
    squares = np.array([[float(last @ last), both], [both, float(before @ before)]])
    ar1, ar2 = (float(value) for value in np.linalg.lstsq(squares, np.array([with_last, with_before]), rcond=None)[0])
    return ar1, ar2, float(left @ left) - ar1 * with_last - ar2 * with_before
