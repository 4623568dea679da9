"""Small forecasts, made in about a second, for tests of what becomes of a forecast."""

from collections.abc import Sequence
from datetime import datetime

from arrival_series import busy_offices

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import Forecast
from forecasting.forecaster import Forecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.pipeline import issue, train
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained


def made_forecast(
    series: ArrivalSeries,
    forecasters: Sequence[Forecaster],
    terms: ForecastTerms,
    *,
    issued_at: datetime | None = None,
    history_snapshot: str = "",
) -> Forecast:
    """Trained and issued at once; issued_at: None for the end of the series."""
    at = issued_at or series.end
    learnt = train(series, issued_at=at, terms=terms, forecasters=forecasters)
    return issue(learnt, series, issued_at=at, history_snapshot=history_snapshot)


def small_training(*, horizon_s: int) -> tuple[Trained, ArrivalSeries]:
    """Of busy_offices at its end, in quarters of an hour, with peaks within 15 minutes and within the horizon."""
    series = busy_offices()
    terms = ForecastTerms(900, horizon_s, (900, horizon_s), paths=60, origins=6, seed=3)
    forecasters = (TimeOfWeekForecaster(), PersistenceForecaster())
    return train(series, issued_at=series.end, terms=terms, forecasters=forecasters), series


def small_forecast(*, horizon_s: int) -> Forecast:
    """What small_training says at the end of its series."""
    learnt, series = small_training(horizon_s=horizon_s)
    return issue(learnt, series, issued_at=series.end)
