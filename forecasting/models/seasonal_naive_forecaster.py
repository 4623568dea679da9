"""Repeats the load of a day, or a week, ago: the naive rivals at long horizons."""

from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecaster import FittedForecaster
from forecasting.models.enough_history import refuse_unless, why_too_little
from forecasting.models.naive_paths import NaivePaths, without_gaps
from forecasting.models.time_grid import DAY_S, windows_per_day

MIN_DAYS = 7
SEASONS = 3


@dataclass(frozen=True)
class SeasonAgo:
    """The counts of the last season, repeated for horizons beyond a season."""

    season: int

    def __call__(self, counts: Floats, origins: Ints, ahead: int) -> Floats:
        return np.asarray(counts[origins[:, None] - self.season + np.arange(ahead) % self.season])

    def filled(self, counts: Floats, lag: int) -> Floats:
        return without_gaps(counts, lag)


class SeasonalNaiveForecaster:
    """Repeats the last day (days=1) or week (days=7), with recent errors from about the same time of day.

    Errors of the last SEASONS seasons, and at least MIN_DAYS, count: their size follows the load within days.
    """

    naive = True
    refit_after_s = DAY_S

    def __init__(self, days: int) -> None:
        self.days = days
        self.name = {1: "day_naive", 7: "week_naive"}.get(days, f"{days}_day_naive")

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        # One season to repeat, and another to measure the error of repeating.
        return why_too_little(series, days=2 * self.days)

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        per_day = windows_per_day(series.window_s)
        season, reach = self.days * per_day, max(MIN_DAYS, SEASONS * self.days) * per_day
        return NaivePaths(series.window_s, SeasonAgo(season), season, reach)
