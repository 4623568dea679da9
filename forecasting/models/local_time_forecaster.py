"""Wraps any forecaster to work in local time, so that days and weeks are those of the source's users."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.forecaster import FittedForecaster, Forecaster
from forecasting.local_time import WallGrid, on_wall, on_wall_grid
from forecasting.models.time_grid import oldest


@dataclass(frozen=True)
class LocalTimeFitted:
    """A forecaster fitted on the wall-clock grid, with input and output in UTC (FittedForecaster)."""

    fitted: FittedForecaster
    timezone: str

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        wall, following = on_wall_grid(recent, self.timezone)
        ahead = WallGrid.of(recent, self.timezone).numbers(recent.end, steps) - following
        back = max(0, -int(ahead.min()))
        if back:
            # During the first of two repeated hours the second is still to come: forecast from the beginning of both.
            wall, ahead = oldest(wall, wall.counts.size - back), ahead + back
        wall_paths = self.fitted.paths_per_s(wall, int(ahead.max()) + 1, paths, rng)
        return wall_paths if wall_paths.shape[1] == steps and (np.diff(ahead) == 1).all() else wall_paths[:, ahead]

    def refreshed(self, series: ArrivalSeries) -> "LocalTimeFitted":
        return LocalTimeFitted(self.fitted.refreshed(on_wall_grid(series, self.timezone)[0]), self.timezone)


class LocalTimeForecaster:
    """Wraps another forecaster under the same name; for a source in UTC it delegates unchanged."""

    def __init__(self, forecaster: Forecaster) -> None:
        self.forecaster = forecaster
        self.name = forecaster.name
        self.naive = forecaster.naive
        self.refit_after_s = forecaster.refit_after_s

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return self.forecaster.unsuitable_because(_on_wall(series))

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        fitted = self.forecaster.fit(_on_wall(series))
        return fitted if series.timezone == UTC_NAME else LocalTimeFitted(fitted, series.timezone)


_on_wall = lru_cache(maxsize=4)(on_wall)
"""Cached for all forecasters that are fitted one after another, like their preparation."""
