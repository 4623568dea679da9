"""The preparation shared by several forecasters: transform, open hours and usual week of a series."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.open_hours import OpenHours, learn_open_hours
from forecasting.models.transform import Transform
from forecasting.models.transform_choice import chosen_transform
from forecasting.models.weekly_profile import WeeklyProfile, weekly_profile


@dataclass(frozen=True)
class Prepared:
    """is_open: whether each window of the series lies in open hours, shape (windows,)."""

    transform: Transform
    hours: OpenHours
    is_open: npt.NDArray[np.bool_]
    profile: WeeklyProfile


@lru_cache(maxsize=4)
def prepared(series: ArrivalSeries) -> Prepared:
    """The preparation of a series, cached for all forecasters that are fitted to it one after another."""
    return prepared_within(series, learn_open_hours(series))


def prepared_within(series: ArrivalSeries, hours: OpenHours) -> Prepared:
    """The same with hours that are known from elsewhere."""
    transform = chosen_transform(series)
    is_open = hours.open_mask(series.start, series.counts.size)
    return Prepared(transform, hours, is_open, weekly_profile(series, transform, hours))
