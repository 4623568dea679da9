"""Ridge regression on waves of the day and the week, corrected by the current error: a smooth profile that is fitted in
milliseconds and needs little history, since the penalty grows with a wave's frequency.
"""

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.closures import without_closures
from forecasting.models.enough_history import refuse_unless, why_too_little
from forecasting.models.fourier_terms import fourier_terms
from forecasting.models.preparation import prepared
from forecasting.models.residual_correction import corrected
from forecasting.models.slow_level import WeeklyLevel
from forecasting.models.time_grid import DAY_S, WEEK_S, week_slots
from forecasting.models.weekly_profile import HALF_LIFE_WEEKS

DAILY_ORDER = 12
WEEKLY_ORDER = 6
PENALTY_HOURS = 2.0
"""Penalty of the slowest wave, in hours of observation; faster waves get the square of their order times as much."""


class RidgeFourierForecaster:
    """Penalised Fourier series per kind of day, with newer weeks weighing more, as the slow level."""

    name = "ridge_fourier"
    naive = False
    refit_after_s = DAY_S

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return why_too_little(series, days=2)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        series = without_closures(series)
        known = prepared(series)
        level, leverage = _ridge_level(series, known.profile.values)
        return corrected(series, level, known.transform, known.hours, leverage=leverage)


def _ridge_level(series: ArrivalSeries, values: Floats) -> tuple[WeeklyLevel, Floats]:
    """The level, and the leverage of each window."""
    window_s = series.window_s
    slots = week_slots(series.start, window_s, values.size)
    terms, per_term = fourier_terms(window_s, DAILY_ORDER, WEEKLY_ORDER)
    rows = slots // per_term
    known = np.isfinite(values)
    if not known.any():
        return WeeklyLevel(window_s, np.zeros(terms.shape[0] * per_term)), np.zeros(values.size)
    age_weeks = np.arange(values.size)[::-1] * window_s / WEEK_S
    weights = np.where(known, 0.5 ** (age_weeks / HALF_LIFE_WEEKS), 0.0)
    mean = float(np.average(values[known], weights=weights[known]))

    size = terms.shape[0]
    by_slot = np.bincount(rows, weights=weights, minlength=size)
    total = np.bincount(rows, weights=weights * np.where(known, values - mean, 0.0), minlength=size)
    # The mean has its own column of ones and no penalty.
    design = np.column_stack([np.ones(size), terms])
    penalty = PENALTY_HOURS * 3600 / window_s * np.concatenate([[0.0], _wave_penalties(terms.shape[1])])
    gram = design.T @ (by_slot[:, None] * design) + np.diag(penalty + 1e-9)
    inverse = np.linalg.inv(gram)
    level = mean + design @ (inverse @ (design.T @ total))
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design, optimize=True)
    return WeeklyLevel(window_s, np.repeat(level, per_term)), weights * leverage[rows]


def _wave_penalties(terms: int) -> Floats:
    """Squares of the orders, as ordered by fourier_terms; weekly waves by their own orders."""
    weekly = [order for order in range(1, WEEKLY_ORDER + 1) for _ in range(2)]
    daily = (terms - 1 - len(weekly)) // 4
    orders = [1, *(order for order in range(1, daily + 1) for _ in range(4)), *weekly]
    return np.square(np.asarray(orders, dtype=np.float64))
