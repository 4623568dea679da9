"""A forecast from the history alone, made on the spot: the usual week, corrected by the current error. Pure.

For when the newest forecast cannot be used. It takes no backtest, no training and no tracking, so its quantiles are
those of the profile's own past errors and nothing has calibrated them.
"""

from datetime import datetime

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import forecaster_rng
from forecasting.deployed import NOW
from forecasting.forecast import QUANTILES, Forecast
from forecasting.models.time_grid import DAY_S
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.one_thread import one_thread
from forecasting.peaks import peak_quantiles_per_s
from forecasting.pipeline import known_history
from forecasting.terms import ForecastTerms


def profile_forecast(
    series: ArrivalSeries, *, issued_at: datetime, terms: ForecastTerms, history_snapshot: str = ""
) -> Forecast:
    """Raises ForecastError where the history is too short, too old or too sparse."""
    history = known_history(series, issued_at, terms.step_s)
    forecaster = TimeOfWeekForecaster()
    with one_thread():
        rng = forecaster_rng(terms.seed, forecaster.name, NOW)
        paths_per_s = forecaster.fit(history).paths_per_s(history, terms.steps, terms.paths, rng)
    peaks = peak_quantiles_per_s(paths_per_s, [horizon_s // terms.step_s for horizon_s in terms.horizons_s], QUANTILES)
    return Forecast(
        issued_at=issued_at,
        topology=series.topology,
        source=series.source,
        start=history.end,
        step_s=terms.step_s,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(paths_per_s, QUANTILES, axis=0).T,
        peak_per_s=dict(zip(terms.horizons_s, peaks, strict=True)),
        paths_per_s=paths_per_s,
        forecaster=dict.fromkeys(terms.horizons_s, forecaster.name),
        trained_from=history.start,
        trained_to=history.end,
        history_digest=history.digest(),
        seed=terms.seed,
        history_snapshot=history_snapshot,
        notes=(
            f"time-of-week profile of {history.span_s / DAY_S:.3g} days of history, neither backtested nor calibrated",
        ),
    )
