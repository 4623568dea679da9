"""Repeats the latest load: the naive rival at short horizons."""

from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.enough_history import refuse_unless, why_too_little
from forecasting.models.naive_paths import NaivePaths, held, without_gaps
from forecasting.models.time_grid import DAY_S, windows_per_day


@dataclass(frozen=True)
class LastMean:
    """The mean of the last `windows` counts continues."""

    windows: int

    def __call__(self, counts: Floats, origins: Ints, ahead: int) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(counts)])
        begin = np.maximum(0, origins - self.windows)
        return np.repeat(((sums[origins] - sums[begin]) / (origins - begin))[:, None], ahead, axis=1)

    def filled(self, counts: Floats, lag: int) -> Floats:
        """The newest known mean goes on for four times its span, an hour; then the same time of the day before counts:
        the rate of another hour says nothing of the present one. lag: half a day.
        """
        return without_gaps(held(counts, self.windows, 4 * self.windows), 2 * lag)


class PersistenceForecaster:
    """The mean of the last 15 minutes, with its past errors at about the same time of day.

    least_days: minimum history.
    """

    name = "persistence"
    naive = True
    refit_after_s = DAY_S

    def __init__(self, least_days: float = 1.0) -> None:
        self.least_days = least_days

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        return why_too_little(series, self.least_days)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        lag = max(1, min(windows_per_day(series.window_s), series.counts.size) // 2)
        return NaivePaths(series.window_s, LastMean(max(1, 900 // series.window_s)), lag)
