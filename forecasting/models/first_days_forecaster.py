"""The usual day of a source with only days of history, as wide as so few days leave it.

Forecasters that take a profile's errors for those to come need many days: after two or three their p95 of a day covers
70 to 85 %. Here the level of each hour comes from few_days_level, and the windows within the hour vary as they did.
"""

from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecaster import FittedForecaster
from forecasting.models.closures import without_closures
from forecasting.models.enough_history import refuse_unless, why_constant, why_too_little
from forecasting.models.few_days_level import LogLoad, chances, log_levels
from forecasting.models.open_hours import learn_open_hours
from forecasting.models.time_grid import DAY_S, newest

FIRST_DAYS = "first_days"
MIN_DAYS, MAX_DAYS = 1.0, 14.0
"""Afterwards the forecasters of weeks have a record, and `week_naive` takes part."""
LEARNS_FROM_S = 7 * DAY_S
MIN_HOURS_DAYS = 2
"""A night that was empty once need not be closed."""
NOISE_S = 3 * DAY_S
HOUR_S, QUARTER_S, NEAR_S = 3600, 900, 7200
"""Levels are those of hours, within two hours of now of quarters of an hour."""
FLOOR_SHARE, FLOOR_EVENTS_PER_HOUR = 0.05, 0.25
"""Added before the logarithm, of the mean load and at least: quiet hours differ by factors that mean nothing."""
NOISE = 1.5
"""Variance of an hour's mean over that of as many independent windows: windows of an hour resemble one another."""
MIN_NOISE = 1e-4
MIN_CHANCE = 0.05
"""Rarer hypotheses are not drawn."""
CAP = 3.0
"""No path exceeds this many times the largest count seen."""
NUMBERS = 64 * 1440
"""Rates computed at once."""


@dataclass(frozen=True)
class FirstDays:
    """weights: of the hypotheses on the level (FittedForecaster). All else is learnt from the history it is given."""

    window_s: int
    weights: Floats

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        if recent.window_s != self.window_s:
            raise ForecastError(
                f"recent history has windows of {recent.window_s} s, the forecaster learnt from {self.window_s} s; "
                "resample it first"
            )
        days = _Days(recent)
        if not days.open_ahead(steps).any():
            return np.zeros((paths, steps))
        ends = _edges(steps, self.window_s)
        hours = (ends[1:] + ends[:-1]) / 2 * self.window_s / HOUR_S
        levels = log_levels(days.log_load(), self.weights, hours, paths, rng)
        at = (np.arange(steps) + 0.5) * self.window_s / HOUR_S
        shares = days.shares
        begins = rng.integers(shares.size, size=paths)
        rates_per_s = np.empty((paths, steps))
        at_once = max(1, NUMBERS // steps)
        for first in range(0, paths, at_once):
            rows = slice(first, first + at_once)
            level = np.stack([np.interp(at, hours, one) for one in levels[rows]])
            runs = shares[(begins[rows, None] + np.arange(steps)) % shares.size]
            counts = np.exp(np.minimum(level, days.highest_log)) * runs - days.floor
            rates_per_s[rows] = np.clip(counts, 0.0, CAP * days.highest) / self.window_s
        rates_per_s[:, ~days.open_ahead(steps)] = 0.0
        return rates_per_s

    def refreshed(self, series: ArrivalSeries) -> "FirstDays":
        return FirstDays(self.window_s, _weights(series))


class FirstDaysForecaster:
    """A Gaussian process of the hours' levels, times the variation within the hour.

    max_days: maximum history.
    """

    name = FIRST_DAYS
    naive = False
    refit_after_s = DAY_S

    def __init__(self, max_days: float = MAX_DAYS) -> None:
        self.max_days = max_days

    def unsuitable_because(self, series: ArrivalSeries) -> str | None:
        if reason := why_too_little(series, MIN_DAYS) or why_constant(series):
            return reason
        days = series.span_s / DAY_S
        return f"{days:.2f} days of history, it is for the first {self.max_days:g}" if days > self.max_days else None

    def fit(self, series: ArrivalSeries) -> FittedForecaster:
        refuse_unless(self.name, self.unsuitable_because(series))
        return FirstDays(series.window_s, _weights(series))


class _Days:
    """The newest days of a history: what is open, and how windows vary within their hour.

    floor: added to counts before their logarithm. shares: counts over the mean of the hour around them, both with the
    floor, in order of time. highest: count; highest_log: of a level.
    """

    def __init__(self, series: ArrivalSeries) -> None:
        series = without_closures(series)
        recent = newest(series, LEARNS_FROM_S // series.window_s)
        self.window_s, self.end = recent.window_s, recent.end
        # A week alone has no day of the week twice.
        self._hours = learn_open_hours(series) if series.span_s >= MIN_HOURS_DAYS * DAY_S else None
        is_open = self._hours.open_mask(recent.start, recent.counts.size) if self._hours else True
        self.counts = np.where(is_open, recent.counts, np.nan)
        known = np.isfinite(self.counts)
        if not known.any():
            raise ForecastError(f"source {series.source!r}: no window of the recent history is observed")
        self._sums = np.concatenate([[0.0], np.cumsum(np.where(known, self.counts, 0.0))])
        self._seen = np.concatenate([[0], np.cumsum(known)])
        per_hour = HOUR_S / self.window_s
        self.highest = float(np.nanmax(self.counts))
        self.floor = max(FLOOR_SHARE * float(np.nanmean(self.counts)), FLOOR_EVENTS_PER_HOUR / max(1.0, per_hour))
        self.highest_log = float(np.log(CAP * self.highest + self.floor))
        self.shares = self._shares()

    def open_ahead(self, steps: int) -> Flags:
        return self._hours.open_mask(self.end, steps) if self._hours else np.ones(steps, dtype=np.bool_)

    def log_load(self) -> LogLoad:
        """The mean loads of hours, the newest of quarters; those mostly missing or closed are left out."""
        ends = self.counts.size - _edges(self.counts.size, self.window_s)[::-1]
        begin, end = ends[:-1], ends[1:]
        seen = self._seen[end] - self._seen[begin]
        usable = (seen > 0) & (2 * seen >= end - begin)
        begin, end, seen = begin[usable], end[usable], seen[usable]
        means = np.maximum(self._sums[end] - self._sums[begin], 0.0) / seen
        hours = ((begin + end) / 2 - self.counts.size) * self.window_s / HOUR_S
        noise = NOISE * float(np.var(np.log(np.maximum(self.shares, self.floor / (CAP * self.highest + self.floor)))))
        return LogLoad(hours, np.log(means + self.floor), noise / seen + MIN_NOISE)

    def _shares(self) -> Floats:
        size, per_hour = self.counts.size, max(1, HOUR_S // self.window_s)
        begin = np.clip(np.arange(size) - per_hour // 2, 0, max(0, size - per_hour))
        end = np.minimum(begin + per_hour, size)
        seen = np.maximum(self._seen[end] - self._seen[begin], 1)
        means = np.maximum(self._sums[end] - self._sums[begin], 0.0) / seen
        shares = (self.counts + self.floor) / (means + self.floor)
        return np.asarray(shares[np.isfinite(shares)][-(NOISE_S // self.window_s) :])


def _weights(series: ArrivalSeries) -> Floats:
    likely = chances(_Days(series).log_load())
    likely = np.where(likely >= MIN_CHANCE, likely, 0.0)
    return np.asarray(likely / likely.sum())


def _edges(windows: int, window_s: int) -> Ints:
    """Distances from now, in windows, at which quarters and hours begin and end; ascending from 0.

    The last hour is dropped where it is not whole, unless there is no other.
    """
    per_hour, per_quarter = max(1, HOUR_S // window_s), max(1, QUARTER_S // window_s)
    near = max(1, NEAR_S // window_s)
    edges = np.concatenate([np.arange(0, near, per_quarter), np.arange(near, windows + 1, per_hour)])
    whole = edges[edges <= windows]
    return np.asarray(whole if whole.size > 1 else np.array([0, windows]), dtype=np.int64)
