"""Sines and cosines of the day and the week: smooth seasonality in few coefficients."""

from functools import lru_cache

import numpy as np

from forecasting.arrays import Floats
from forecasting.models.time_grid import weekend_slots, windows_per_day

FINEST_S = 60
"""The fastest wave takes two hours: within a minute none moves by more than a fortieth."""


@lru_cache(maxsize=4)
def fourier_terms(window_s: int, daily_order: int, weekly_order: int) -> tuple[Floats, int]:
    """A weekend step; waves of the day, each also on weekends alone; waves of the week. Slowest waves first.

    And the number of windows that share a row: one, or as many as divide the day and last FINEST_S at most.

    Shape (slots of the week / windows of a row, 1 + 4 daily_order + 2 weekly_order), values from -1 to 1, read-only.
    Orders beyond the resolution of the rows are left out.
    """
    windows = windows_per_day(window_s)
    per_row = next(count for count in range(max(1, FINEST_S // window_s), 0, -1) if windows % count == 0)
    per_day = windows // per_row
    slots = np.arange(7 * per_day)
    weekend = weekend_slots(window_s * per_row)
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
    return terms, per_row
