"""A small forecast, made by the pipeline in about a second, for tests of what becomes of a forecast."""

from arrival_series import busy_offices

from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.pipeline import MadeForecast, make_forecast
from forecasting.terms import ForecastTerms


def small_forecast(*, horizon_s: int) -> MadeForecast:
    """Of busy_offices at its end, in quarters of an hour, with peaks within 15 minutes and within the horizon."""
    series = busy_offices()
    return make_forecast(
        series,
        issued_at=series.end,
        terms=ForecastTerms(900, horizon_s, (900, horizon_s), paths=60, origins=6, seed=3),
        forecasters=(TimeOfWeekForecaster(), PersistenceForecaster()),
    )
