"""Wraps any forecaster: event effects are removed from its history and applied to its forecasts."""

from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import EventCalendar
from forecasting.events.effects import EventEffects, learn_effects
from forecasting.forecaster import FittedForecaster, Forecaster


@dataclass(frozen=True)
class EventAware:
    """A fitted forecaster without knowledge of events, and the events' effects (FittedForecaster)."""

    fitted: FittedForecaster
    effects: EventEffects

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        usual = self.fitted.paths_per_s(self.effects.removed(recent), steps, paths, rng)
        return usual * self.effects.ratios(recent.end, recent.window_s, steps)

    def refreshed(self, series: ArrivalSeries) -> "EventAware":
        return EventAware(self.fitted.refreshed(self.effects.removed(series)), self.effects)


class EventAwareForecaster:
    """Wraps another forecaster under the same name."""

    def __init__(self, forecaster: Forecaster, calendar: EventCalendar) -> None:
        self.forecaster = forecaster
        self.calendar = calendar
        self.name = forecaster.name
        self.naive = forecaster.naive
        self.refit_after_s = forecaster.refit_after_s

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        effects = self._effects(series)
        return self.forecaster.unsuitable_because(series if effects is None else effects.removed(series))

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        effects = self._effects(series)
        if effects is None:
            return self.forecaster.fit(series)
        return EventAware(self.forecaster.fit(effects.removed(series)), effects)

    def _effects(self, series: ArrivalSeries) -> EventEffects | None:
        """None if no event concerns the source."""
        calendar = self.calendar.of_source(series.source)
        return learn_effects(series, calendar) if calendar.events else None
