"""An ad-hoc forecast from the history alone: the usual week, corrected by the current error. Pure.

A fallback if the newest forecast cannot be used. Without backtest, training and tracking, its quantiles come from the
profile's own past errors and are not calibrated.
"""

from dataclasses import replace
from datetime import datetime

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import forecaster_rng
from forecasting.deployed import NOW
from forecasting.events.calendar import EventCalendar
from forecasting.events.event_aware_forecaster import EventAwareForecaster
from forecasting.forecast import QUANTILES, Forecast
from forecasting.models.local_time_forecaster import LocalTimeForecaster
from forecasting.models.time_grid import DAY_S
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster
from forecasting.one_thread import one_thread
from forecasting.peaks import peak_quantiles_per_s
from forecasting.pipeline import forecast_of, known_history, since_launch
from forecasting.terms import ForecastTerms

NO_EVENTS = EventCalendar()


def profile_forecast(
    series: ArrivalSeries,
    *,
    issued_at: datetime,
    terms: ForecastTerms,
    history_snapshot: str = "",
    calendar: EventCalendar = NO_EVENTS,
) -> Forecast:
    """calendar: events that change the usual week, past and coming, as a forecast knows them.

    Raises ForecastError if the history is too short, too old or too sparse.
    """
    history = since_launch(known_history(series, issued_at, terms.step_s))
    forecaster = EventAwareForecaster(LocalTimeForecaster(TimeOfWeekForecaster()), calendar)
    with one_thread():
        rng = forecaster_rng(terms.seed, forecaster.name, NOW)
        paths_per_s = forecaster.fit(history).paths_per_s(history, terms.steps, terms.drawn_paths, rng)
    peaks = peak_quantiles_per_s(paths_per_s, [horizon_s // terms.step_s for horizon_s in terms.horizons_s], QUANTILES)
    by = dict.fromkeys(terms.horizons_s, forecaster.name)
    days = history.span_s / DAY_S
    return replace(
        forecast_of(history, paths_per_s, peaks, terms, issued_at=issued_at, forecaster=by),
        history_snapshot=history_snapshot,
        notes=(f"time-of-week profile of {days:.3g} days of history, neither backtested nor calibrated",),
    )
