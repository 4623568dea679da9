"""The usual day of only the last few days, for the time just after a change of habits."""

from dataclasses import replace

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.closures import without_closures
from forecasting.models.enough_history import refuse_unless
from forecasting.models.open_hours import learn_open_hours
from forecasting.models.preparation import prepared_within
from forecasting.models.time_grid import DAY_S, newest
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster, usual_week

SPAN_S = int(3.5 * DAY_S)
"""Half a week: each hour of the day three or four times. A whole week is as accurate but follows later."""


class RecentDaysForecaster:
    """TimeOfWeekForecaster restricted to the last SPAN_S: level, error scale, correction and errors.

    It loses little to longer memories without changes. After a regime change these describe another load: their band
    stays as wide as during an event, or their level as low as before it.
    """

    name = "recent_days"
    naive = False
    refit_after_s = DAY_S

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return TimeOfWeekForecaster().unsuitable_because(_recent(series))

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        recent = _recent(series)
        # Half a week has no day of the week twice: which are closed, the whole history knows.
        hours = learn_open_hours(recent).with_closed_days(learn_open_hours(without_closures(series)))
        fitted = usual_week(recent, prepared_within(recent, hours))
        return replace(fitted, learns_from=recent.counts.size)


def _recent(series: ArrivalSeries) -> ArrivalSeries:
    return newest(without_closures(series), SPAN_S // series.window_s)
