"""The role of a forecaster: learn from one arrival series, then give joint sample paths of what comes next."""

from typing import Protocol

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries


class FittedForecaster(Protocol):
    """A trained forecaster; cheap to reuse as newer counts arrive."""

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        """Joint sample paths of the rate in events per second, shape (paths, steps), finite and never negative.

        recent: the history up to now; the first step follows its last window. It may be longer than the training
        history, and paths start from its current level.
        """
        ...

    def refreshed(self, series: ArrivalSeries) -> "FittedForecaster":
        """The same with fast-ageing parts, such as its usual errors, updated from a longer series; cheap."""
        ...


class Forecaster(Protocol):
    """A forecasting method. Its name appears in scores, MLflow and reports."""

    @property
    def name(self) -> str: ...

    @property
    def naive(self) -> bool:
        """Whether it is a baseline that the others must beat."""
        ...

    @property
    def refit_after_s(self) -> float:
        """How long a backtest uses a fit, refreshed daily: a day, or longer if fitting is slow and ages slowly."""
        ...

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        """Why it cannot learn from this series (too short, constant …), or None if it can."""
        ...

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        """Learn from a series on a regular grid; NaN counts are missing. Raises ForecastError if it cannot."""
        ...
