"""Prophet's trend and seasonalities as the slow level, corrected by the current error.

Prophet alone ignores the current level and gives only pointwise intervals; the residual correction remedies both.
Prophet is imported at the first fit, because it is heavy.
"""

import importlib.util
import logging
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecaster import FittedForecaster
from forecasting.models.closures import without_closures
from forecasting.models.enough_history import refuse_unless, why_constant, why_too_little
from forecasting.models.preparation import Prepared, prepared
from forecasting.models.residual_correction import corrected
from forecasting.models.slow_level import GridLevel
from forecasting.models.time_grid import DAY_S, WEEK_S, week_slots, windows_per_day

if TYPE_CHECKING:
    import pandas as pd


AGGREGATION_S = 900
CHANGEPOINT_PRIOR = 0.001
"""Prophet's default of 0.05 takes every busy week for a trend and extrapolates it; the current level is the residual
correction's task. On call-centre counts the peak loss at 24 h is a fifth lower than with 0.01."""
AHEAD_S = 8 * DAY_S
DAILY_ORDER = 8


class ProphetForecaster:
    """Prophet on 15-minute means of transformed counts, for weekdays and weekends apart; closed hours are left out."""

    name = "prophet"
    naive = False
    refit_after_s = 7 * DAY_S

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        if importlib.util.find_spec("prophet") is None:
            return "prophet is not installed; install forescale[forecast]"
        return why_too_little(series, days=3) or why_constant(series)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        series = without_closures(series)
        known = prepared(series)
        level = _prophet_level(series, known)
        return corrected(series, level, known.transform, known.hours)


def _prophet_level(series: ArrivalSeries, known: Prepared) -> GridLevel:
    """Prophet's level from the start of the series to AHEAD_S after its end, on the grid of the series."""
    from prophet import Prophet

    # Both libraries report every fit. Importing Prophet sets their levels, so they are silenced after it.
    for library in ("cmdstanpy", "prophet", "prophet.models"):
        logging.getLogger(library).disabled = True

    size = series.counts.size
    values = known.profile.values
    per_block = max(1, AGGREGATION_S // series.window_s)
    blocks = -(-size // per_block)
    frame = _frame(series, blocks, per_block)
    padded = np.concatenate([values, np.full(blocks * per_block - size, np.nan)]).reshape(blocks, per_block)
    filled = np.isfinite(padded)
    count = filled.sum(axis=1)
    frame["y"] = np.divide(np.nansum(padded, axis=1), count, out=np.full(blocks, np.nan), where=count > 0)

    model = Prophet(
        growth="linear",
        yearly_seasonality=False,
        weekly_seasonality=False,
        daily_seasonality=False,
        changepoint_prior_scale=CHANGEPOINT_PRIOR,
        uncertainty_samples=0,
    )
    seen = frame["y"].notna()
    model.add_seasonality("weekday", period=1, fourier_order=DAILY_ORDER, condition_name="on_weekday")
    if (seen & frame["on_weekend"]).sum() * AGGREGATION_S >= DAY_S // 2:
        model.add_seasonality("weekend", period=1, fourier_order=DAILY_ORDER, condition_name="on_weekend")
    if series.span_s >= 2 * WEEK_S:
        model.add_seasonality("week", period=7, fourier_order=3)
    # Newton's method, its fallback if L-BFGS fails, takes thirty times as long as a fit.
    model.stan_backend.set_options(newton_fallback=False)
    try:
        model.fit(frame[seen], seed=1)
    except RuntimeError:
        raise ForecastError(
            "forecaster prophet: its optimiser stops at once on this series; the others do without it"
        ) from None

    ahead = -(-AHEAD_S // (series.window_s * per_block))
    total = max(blocks + ahead, -(-WEEK_S // (series.window_s * per_block)))
    level = model.predict(_frame(series, total, per_block))["yhat"].to_numpy(dtype=np.float64)
    return GridLevel(series.start, series.window_s, _at_windows(level, per_block))


def _frame(series: ArrivalSeries, blocks: int, per_block: int) -> "pd.DataFrame":
    """Prophet's frame: the middle and the kind of day of each block."""
    import pandas as pd

    block_s = per_block * series.window_s
    first = pd.Timestamp(series.start.astimezone(UTC).replace(tzinfo=None)) + timedelta(seconds=block_s / 2)
    times = first + pd.to_timedelta(np.arange(blocks) * block_s, unit="s")
    weekend = week_slots(series.start, series.window_s, blocks * per_block)[::per_block] >= 5 * windows_per_day(
        series.window_s
    )
    return pd.DataFrame({"ds": times, "on_weekend": weekend, "on_weekday": ~weekend})


def _at_windows(level: Floats, per_block: int) -> Floats:
    """The level of each window, interpolated between the middles of blocks."""
    middles = (np.arange(level.size) + 0.5) * per_block
    return np.asarray(np.interp(np.arange(level.size * per_block) + 0.5, middles, level))
