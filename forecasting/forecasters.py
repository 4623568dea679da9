"""Which forecasters compete for a source."""

from collections.abc import Sequence

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import EventCalendar
from forecasting.events.event_aware_forecaster import EventAwareForecaster
from forecasting.forecaster import Forecaster
from forecasting.models.borrowed_forecaster import MIN_DAYS, BorrowedForecaster
from forecasting.models.first_days_forecaster import FirstDaysForecaster
from forecasting.models.harmonic_arima_forecaster import HarmonicArimaForecaster
from forecasting.models.local_time_forecaster import LocalTimeForecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.prophet_forecaster import ProphetForecaster
from forecasting.models.recent_days_forecaster import RecentDaysForecaster
from forecasting.models.ridge_fourier_forecaster import RidgeFourierForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster


def all_forecasters(
    calendar: EventCalendar | None = None, *, prophet: bool = True, siblings: Sequence[ArrivalSeries] = ()
) -> tuple[Forecaster, ...]:
    """Every forecaster with its naive rivals. Those whose library is missing refuse for that reason.

    calendar: events made known to all of them, including the naive ones. prophet: whether Prophet takes part; it costs
    as much as all others together. siblings: sources whose shape may be borrowed, so that three hours of history
    suffice for one forecaster and its naive rival.
    """
    forecasters: tuple[Forecaster, ...] = (
        TimeOfWeekForecaster(),
        RidgeFourierForecaster(),
        *((ProphetForecaster(),) if prophet else ()),
        HarmonicArimaForecaster(),
        RecentDaysForecaster(),
        FirstDaysForecaster(),
        PersistenceForecaster(MIN_DAYS) if siblings else PersistenceForecaster(),
        SeasonalNaiveForecaster(days=1),
        SeasonalNaiveForecaster(days=7),
    )
    forecasters = tuple(LocalTimeForecaster(forecaster) for forecaster in forecasters)
    if siblings:
        # It handles each sibling's time zone itself.
        forecasters = (*forecasters, BorrowedForecaster(siblings))
    if calendar is None or not calendar.events:
        return forecasters
    return tuple(EventAwareForecaster(forecaster, calendar) for forecaster in forecasters)
