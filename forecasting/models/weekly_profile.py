"""The usual week of a series: a robust, recent mean per slot of the week that borrows from similar days if needed."""

from dataclasses import dataclass

import numpy as np
import scipy  # which imports its modules when they are used

from forecasting.arrays import Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.open_hours import OpenHours
from forecasting.models.slow_level import WeeklyLevel
from forecasting.models.time_grid import week_slots, weekend_slots, windows_per_day
from forecasting.models.transform import Transform

HALF_LIFE_WEEKS = 3.0
BORROWED_WEEKS = 1.0
"""Weight of similar days, in weeks of the slot itself."""
NEIGHBOURS_S = 600
OUTLIER = 3.0
FEW = 64
"""Longer kernels are cheaper by Fourier transforms."""


@dataclass(frozen=True)
class WeeklyProfile:
    """level: the profile. leverage: share of each window's own value in it. values: winsorised transformed counts, NaN
    if missing or closed. Both have shape (windows,).
    """

    level: WeeklyLevel
    leverage: Floats
    values: Floats


def weekly_profile(series: ArrivalSeries, transform: Transform, hours: OpenHours) -> WeeklyProfile:
    """The profile of the open hours; windows far from the median of their slot are winsorised.

    A slot of the week is shrunk towards the same time on other weekdays (or weekend days), and that towards all days,
    by BORROWED_WEEKS; slots without data take their neighbours' level.
    """
    window_s, count = series.window_s, series.counts.size
    per_day = windows_per_day(window_s)
    slots = week_slots(series.start, window_s, count)
    values = transform.forward(series.counts)
    values = np.where(hours.open_mask(series.start, count), values, np.nan)
    known = np.isfinite(values)
    if not known.any():
        return WeeklyProfile(WeeklyLevel(window_s, np.zeros(7 * per_day)), np.zeros(count), values)

    values = winsorised(values, slots, window_s)
    age_weeks = np.arange(count)[::-1] / (7 * per_day)
    weights = np.where(known, 0.5 ** (age_weeks / HALF_LIFE_WEEKS), 0.0)
    reach = NEIGHBOURS_S // window_s
    kernel = np.array([1 - abs(i) / (reach + 1) for i in range(-reach, reach + 1)])
    kernel /= kernel.sum()

    weight = _smoothed(_by_slot(weights, slots, per_day), kernel)
    total = _smoothed(_by_slot(weights * np.nan_to_num(values), slots, per_day), kernel)
    overall = float(np.average(values[known], weights=weights[known]))
    days, seen = total.reshape(7, per_day), weight.reshape(7, per_day)
    weekend = weekend_slots(window_s).reshape(7, per_day)
    of_all = _leaning(days.sum(axis=0), seen.sum(axis=0), np.full(per_day, overall), 0.1)
    of_weekdays = _leaning(days[:5].sum(axis=0), seen[:5].sum(axis=0), of_all, BORROWED_WEEKS)
    of_weekend = _leaning(days[5:].sum(axis=0), seen[5:].sum(axis=0), of_all, BORROWED_WEEKS)
    alike = np.where(weekend, of_weekend, of_weekdays)
    profile = _leaning(days, seen, alike, BORROWED_WEEKS).reshape(-1)

    own = weights * kernel[reach] / (weight[slots] + BORROWED_WEEKS)
    return WeeklyProfile(WeeklyLevel(window_s, profile), own, values)


def _by_slot(weights: Floats, slots: Ints, per_day: int) -> Floats:
    return np.bincount(slots, weights=weights, minlength=7 * per_day).astype(np.float64)


def _leaning(total: Floats, weight: Floats, on: Floats, by: float) -> Floats:
    return np.asarray((total + by * on) / (weight + by), dtype=np.float64)


def _smoothed(circle: Floats, kernel: Floats) -> Floats:
    reach = kernel.size // 2
    padded = np.concatenate([circle[circle.size - reach :], circle, circle[:reach]])
    if kernel.size <= FEW:
        return np.convolve(padded, kernel, mode="valid")
    return np.asarray(scipy.signal.oaconvolve(padded, kernel, mode="valid"))


def winsorised(values: Floats, slots: Ints, window_s: int) -> Floats:
    """The values, clipped to OUTLIER usual deviations from the median of their slot."""
    per_day = windows_per_day(window_s)
    order = np.argsort(slots, kind="stable")
    weeks = int(np.bincount(slots).max())
    grid = np.full((7 * per_day, weeks), np.nan)
    position = np.arange(slots.size) - np.searchsorted(slots[order], slots[order])
    grid[slots[order], position] = values[order]
    seen = np.isfinite(grid).sum(axis=1)
    often = np.flatnonzero(seen >= 3)
    if not often.size:
        return values
    medians = np.full(7 * per_day, np.nan)
    # Missing values sort to the end.
    grid.sort(axis=1)
    medians[often] = (grid[often, (seen[often] - 1) // 2] + grid[often, seen[often] // 2]) / 2
    off = values - medians[slots]
    if not np.isfinite(off).any():
        return values
    # One spread per time of day, over all weeks, since a single slot has too few values.
    day_slots = slots % per_day
    known = np.isfinite(off)
    total = np.bincount(day_slots[known], weights=np.abs(off[known]), minlength=per_day)
    count = np.bincount(day_slots[known], minlength=per_day)
    spread = 1.25 * np.divide(total, count, out=np.full(per_day, np.inf), where=count > 0)
    bound = OUTLIER * spread[day_slots]
    return np.where(known, medians[slots] + np.clip(off, -bound, bound), values)
