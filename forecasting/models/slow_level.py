"""The slow part of a forecast: the expected level at each time, regardless of current arrivals."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np

from forecasting.arrays import Floats
from forecasting.errors import ForecastError
from forecasting.models.time_grid import WEEK_S, week_slots


class SlowLevel(Protocol):
    """A level on a transformed scale, on the grid of its training series."""

    def transformed(self, start: datetime, count: int) -> Floats:
        """Transformed level of `count` windows from start, shape (count,), finite."""
        ...


@dataclass(frozen=True)
class WeeklyLevel:
    """A repeating week. slots: transformed level per slot of the week."""

    window_s: int
    slots: Floats

    def transformed(self, start: datetime, count: int) -> Floats:
        return self.slots[week_slots(start, self.window_s, count)]


@dataclass(frozen=True)
class GridLevel:
    """A level stored for a span of time; outside of it the nearest week repeats.

    values: transformed level per window from start, at least a week of them.
    """

    start: datetime
    window_s: int
    values: Floats

    def __post_init__(self) -> None:
        if self.values.size * self.window_s < WEEK_S:
            raise ForecastError(f"a level over {self.values.size} windows of {self.window_s} s is shorter than a week")

    def transformed(self, start: datetime, count: int) -> Floats:
        week = WEEK_S // self.window_s
        at = round((start - self.start).total_seconds() / self.window_s) + np.arange(count)
        beyond = at >= self.values.size
        at = np.where(beyond, self.values.size - week + (at - self.values.size) % week, at)
        return self.values[np.where(at < 0, at % week, at)]
