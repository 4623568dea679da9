"""Which forecasters compete for a source."""

from forecasting.forecaster import Forecaster
from forecasting.models.harmonic_arima_forecaster import HarmonicArimaForecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.prophet_forecaster import ProphetForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster


def all_forecasters() -> tuple[Forecaster, ...]:
    """Every forecaster with its naive rivals. Those whose library is not installed refuse with that as the reason."""
    return (
        TimeOfWeekForecaster(),
        ProphetForecaster(),
        HarmonicArimaForecaster(),
        PersistenceForecaster(),
        SeasonalNaiveForecaster(days=1),
        SeasonalNaiveForecaster(days=7),
    )
