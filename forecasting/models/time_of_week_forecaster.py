"""The usual week, corrected by the current error: the cheapest forecaster, and hard to beat on machine-made loads."""

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.enough_history import refuse_unless, why_too_little
from forecasting.models.open_hours import learn_open_hours
from forecasting.models.residual_correction import corrected
from forecasting.models.transform_choice import chosen_transform
from forecasting.models.weekly_profile import weekly_profile


class TimeOfWeekForecaster:
    """Robust profile per slot of the week on a transformed scale, residual correction, error trajectories."""

    name = "time_of_week"
    naive = False

    def why_not(self, series: ArrivalSeries) -> str | None:
        return why_too_little(series, days=2)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.why_not(series))
        transform = chosen_transform(series)
        hours = learn_open_hours(series)
        profile = weekly_profile(series, transform, hours)
        return corrected(series, profile.level, transform, hours, self_influence=profile.self_influence)
