"""The usual week, corrected by the current error: the cheapest forecaster, hard to beat on machine-made loads."""

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.closures import without_closures
from forecasting.models.enough_history import refuse_unless, why_too_little
from forecasting.models.preparation import Prepared, prepared
from forecasting.models.residual_correction import CorrectedForecaster, corrected
from forecasting.models.time_grid import DAY_S


class TimeOfWeekForecaster:
    """Robust profile per slot of the week on a transformed scale, residual correction, error trajectories."""

    name = "time_of_week"
    naive = False
    refit_after_s = DAY_S

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return why_too_little(series, days=2)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        series = without_closures(series)
        return usual_week(series, prepared(series))


def usual_week(series: ArrivalSeries, known: Prepared) -> CorrectedForecaster:
    """The usual week of the preparation, with the errors of the series that it was made of."""
    return corrected(series, known.profile.level, known.transform, known.hours, leverage=known.profile.leverage)
