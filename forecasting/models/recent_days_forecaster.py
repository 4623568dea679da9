"""The usual day of the last few days alone: what is left of habits just after they changed."""

from dataclasses import replace

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.enough_history import refuse_unless
from forecasting.models.residual_correction import CorrectedForecaster
from forecasting.models.time_grid import DAY_S, newest
from forecasting.models.time_of_week_forecaster import TimeOfWeekForecaster

SPAN_S = int(3.5 * DAY_S)
"""Half a week: three or four times each hour of the day. With a whole one it is as good, and follows later."""


class RecentDaysForecaster:
    """What TimeOfWeekForecaster learns of the last SPAN_S: level, usual sizes, correction and errors.

    It loses little to longer memories where nothing changes. Where a regime began or ended, all that they know is of
    another load: their band stays as wide as an event was, or their level as low as before it.
    """

    name = "recent_days"
    naive = False
    refit_after_s = DAY_S

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return TimeOfWeekForecaster().unsuitable_because(_recent(series))

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        recent = _recent(series)
        fitted = TimeOfWeekForecaster().fit(recent)
        if not isinstance(fitted, CorrectedForecaster):
            raise TypeError(type(fitted).__name__)
        return replace(fitted, learns_from=recent.counts.size)


def _recent(series: ArrivalSeries) -> ArrivalSeries:
    return newest(series, SPAN_S // series.window_s)
