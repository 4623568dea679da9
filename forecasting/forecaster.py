"""The role of a forecaster: learn from one arrival series, then give joint sample paths of what comes next."""

from typing import Protocol

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries


class FittedForecaster(Protocol):
    """What a forecaster has learnt; cheap to ask again as newer counts arrive."""

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        """Joint sample paths of the rate in events per second, shape (paths, steps), finite and never negative.

        recent: the history up to the moment of asking; the first step follows its last window. It may be longer than
        what was learnt from, and the answer starts from its current level.
        """
        ...

    def refreshed(self, series: ArrivalSeries) -> "FittedForecaster":
        """The same with what ages fast, such as its usual errors, learnt anew from a longer series; cheap."""
        ...


class Forecaster(Protocol):
    """A way to forecast. Its name stands in scores, in MLflow and in reports."""

    @property
    def name(self) -> str: ...

    @property
    def naive(self) -> bool:
        """Whether it is a rival that the others must beat."""
        ...

    @property
    def refit_after_s(self) -> float:
        """How long a fit serves in a backtest, renewed every day: a day, or more where it is slow and ages slowly."""
        ...

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        """Why it cannot learn from this series (too short, constant …), or None where it can."""
        ...

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        """Learn from a series on a regular grid; NaN counts are missing. Raises ForecastError when it cannot."""
        ...
