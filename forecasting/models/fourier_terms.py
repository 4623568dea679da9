"""Sines and cosines of the day and the week: smooth seasonality in few coefficients."""

from functools import lru_cache

import numpy as np

from forecasting.arrays import Floats
from forecasting.models.time_grid import weekend_slots, windows_per_day


@lru_cache(maxsize=4)
def fourier_terms(window_s: int, daily_order: int, weekly_order: int) -> Floats:
    """A weekend step; waves of the day, each also on weekends alone; waves of the week. Slowest waves first.

    Shape (slots of the week, 1 + 4 daily_order + 2 weekly_order), values from -1 to 1, read-only. Orders beyond the
    windows' resolution are left out.
    """
    per_day = windows_per_day(window_s)
    slots = np.arange(7 * per_day)
    weekend = weekend_slots(window_s)
    columns = [weekend.astype(float)]
    for order in range(1, min(daily_order, per_day // 2 - 1) + 1):
        angle = 2 * np.pi * order * slots / per_day
        for wave in (np.sin(angle), np.cos(angle)):
            columns += [wave, wave * weekend]
    for order in range(1, weekly_order + 1):
        angle = 2 * np.pi * order * slots / (7 * per_day)
        columns += [np.sin(angle), np.cos(angle)]
    terms = np.column_stack(columns)
    terms.flags.writeable = False
    return terms
