"""Joint paths of the naive forecasters: their forecasts plus the errors that they would have made in the past."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.error_trajectories import (
    alike_origins,
    drawn,
    fill_along,
    filled_both_ways,
    most_complete,
    run_round,
    windows_from,
)
from forecasting.models.time_grid import newest


class Rule(Protocol):
    """What a naive forecaster repeats."""

    def __call__(self, counts: Floats, origins: Ints, ahead: int) -> Floats:
        """Counts forecast for windows o to o + ahead - 1 of each origin o, from counts without gaps."""
        ...

    def filled(self, counts: Floats, lag: int) -> Floats:
        """Counts with what the rule takes for missing ones; lag: windows of history that it reads."""
        ...


@dataclass(frozen=True)
class NaivePaths:
    """A naive rule plus its own past errors, unscaled (FittedForecaster).

    A downward error keeps its share of the forecast, an upward one its size, so that a busy hour's errors do not empty
    a quiet one.

    lag: windows of history that the rule reads. It stores no history: `recent` must contain two lags. reach: observed
    windows whose errors count, None for all.
    """

    window_s: int
    rule: Rule
    lag: int
    reach: int | None = None

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        if recent.window_s != self.window_s:
            raise ForecastError(
                f"recent history has windows of {recent.window_s} s, the forecaster learnt from {self.window_s} s; "
                "resample it first"
            )
        if not np.isfinite(recent.counts).any():
            raise ForecastError(f"source {recent.source!r}: no window of the recent history is observed")
        if self.reach is not None:
            recent = newest(recent, windows_with(np.isfinite(recent.counts), self.reach))
        size = recent.counts.size
        if size < 2 * self.lag:
            raise ForecastError(
                f"recent history has {size} windows, {2 * self.lag} are needed to look back {self.lag}; pass all of it"
            )
        counts = self.rule.filled(recent.counts, self.lag)
        expected = self.rule(counts, np.array([size]), steps)[0]
        origins, length = alike_origins(size, steps, self.window_s, earliest=self.lag)
        longer = run_round(counts, length, self.window_s)
        truth = run_round(recent.counts, length, self.window_s)
        origins = origins[most_complete(np.isfinite(truth), origins, np.ones(steps, dtype=np.bool_))]
        taken = drawn(origins.size, paths, rng)
        # Compute each drawn error once, and none that is not drawn.
        origins, taken = (origins, taken) if origins.size <= paths else (origins[taken], np.arange(paths))
        actual, past = windows_from(truth, origins, steps), self.rule(longer, origins, steps)
        upward = np.maximum(fill_along(actual - past), 0.0)
        share = np.divide(np.minimum(actual, past), past, out=np.ones_like(past), where=past > 0)
        counts = expected * fill_along(share) + upward
        counts /= self.window_s
        return np.asarray(counts[taken])

    def refreshed(self, series: ArrivalSeries) -> "NaivePaths":
        return self


def windows_with(known: Flags, count: int) -> int:
    """The number of newest windows that include `count` known ones, or all: an outage takes away no errors."""
    including = np.flatnonzero(np.cumsum(known[::-1]) >= count)
    return int(including[0]) + 1 if including.size else known.size


def held(counts: Floats, newest: int, longest: int) -> Floats:
    """Missing counts up to `longest` windows after a known one are the mean of the `newest` known ones before them."""
    known = np.isfinite(counts)
    number = np.cumsum(known)
    sums = np.concatenate([[0.0], np.cumsum(counts[known])])
    begin = np.maximum(0, number - newest)
    mean = (sums[number] - sums[begin]) / np.maximum(1, number - begin)
    at = np.arange(counts.size)
    last = np.maximum.accumulate(np.where(known, at, -1))
    return np.where(~known & (last >= 0) & (at - last <= longest), mean, counts)


def without_gaps(counts: Floats, lag: int) -> Floats:
    """Missing counts take the newest one a whole number of lags earlier; at the start of the history, one later."""
    if np.isfinite(counts).all():
        return counts
    rows = -(-counts.size // lag)
    padded = np.full(rows * lag, np.nan)
    padded[padded.size - counts.size :] = counts
    by_lag = filled_both_ways(padded.reshape(rows, lag).T).T
    filled = by_lag.reshape(-1)[padded.size - counts.size :]
    still = ~np.isfinite(filled)
    if still.any():
        filled = np.where(still, np.interp(np.arange(filled.size), np.flatnonzero(~still), filled[~still]), filled)
    return filled
