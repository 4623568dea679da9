"""From a slow level to joint sample paths: correct by the current error, then add error trajectories of the past.

Errors are measured on a transformed scale and in units of their usual size at that time of day, so that a busy noon
does not lend its errors to a quiet night. The correction regresses the error at each lead on the mean errors of the
last 15 minutes, 2 hours and 24 hours. What it leaves is drawn as whole trajectories.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.error_trajectories import (
    alike_origins,
    drawn,
    drawn_by_weight,
    fill_along,
    lone_event,
    most_complete,
    run_round,
    spread_over_the_day,
)
from forecasting.models.open_hours import OpenHours
from forecasting.models.slow_level import SlowLevel
from forecasting.models.time_grid import DAY_S, newest, week_slots, windows_per_day
from forecasting.models.transform import Transform

SPANS_S = (900, 7200, DAY_S)
CLIP = 4.0
"""Errors beyond this many usual sizes say that something happened, not where the level is."""
LOWEST = -5.0
TRAINING_ORIGINS = 500
"""Their spans overlap, so that more of them tell hardly more: over seven traces the loss is the same with 2,000."""
CAP = 3.0
"""No path exceeds this many times the largest count ever seen: an exponential must not explode."""


class Memory(Protocol):
    """What a forecaster knows of how its errors go on, beyond the common correction."""

    def anticipated(self, errors: Floats, origins: Ints, ahead: int) -> Floats:
        """Expected errors of the windows o to o + ahead - 1 of each origin o, shape (origins, ahead)."""
        ...


@dataclass(frozen=True)
class CorrectedForecaster:
    """A slow level with its correction (FittedForecaster).

    errors: those of the training history, in usual sizes; errors_end: the end of their last window. learns_from:
    newest windows of a history that it learns from, None for all.
    """

    window_s: int
    level: SlowLevel
    transform: Transform
    hours: OpenHours
    usual_size: Floats
    errors: Floats
    errors_end: datetime
    weights: Floats
    highest_count: float
    memory: Memory | None = None
    learns_from: int | None = None

    def paths_per_s(self, recent: ArrivalSeries, steps: int, paths: int, rng: np.random.Generator) -> Floats:
        if recent.window_s != self.window_s:
            raise ForecastError(
                f"recent history has windows of {recent.window_s} s, the forecaster learnt from {self.window_s} s; "
                "resample it first"
            )
        per_day = windows_per_day(self.window_s)
        recent = newest(recent, 3 * per_day)
        now = standardised_errors(recent, self.level, self.transform, self.hours, self.usual_size)
        expected = self._expected(now, np.array([now.size]), steps)[0]
        is_open = self.hours.open_mask(recent.end, steps)
        left, weights = self._left_errors(recent.end, steps, is_open)
        taken = drawn(left.shape[0], paths, rng) if weights is None else drawn_by_weight(weights, paths, rng)
        # Trajectories that are drawn several times are worked out once.
        left, taken = (left, taken) if left.shape[0] <= paths else (left[taken], np.arange(paths))
        slots = week_slots(recent.end, self.window_s, steps)
        usual = self.level.transformed(recent.end, steps) + expected * self.usual_size[slots % per_day]
        transformed = usual + left * self.usual_size[slots % per_day]
        highest = max(self.highest_count, float(np.nanmax(recent.counts, initial=0.0)))
        counts = np.minimum(self.transform.inverse(transformed), CAP * highest)
        return np.where(is_open, counts / self.window_s, 0.0)[taken]

    def renewed(self, series: ArrivalSeries) -> "CorrectedForecaster":
        if self.learns_from is not None:
            series = newest(series, self.learns_from)
        renewed = corrected(series, self.level, self.transform, self.hours, memory=self.memory)
        return replace(renewed, learns_from=self.learns_from)

    def _expected(self, errors: Floats, origins: Ints, ahead: int) -> Floats:
        # Beyond the leads that were fitted the last one holds: by then little of the current error is left.
        weights = self.weights[np.minimum(np.arange(ahead), self.weights.shape[0] - 1)]
        expected = np.asarray(current_errors(errors, origins, self.window_s) @ weights.T)
        return expected if self.memory is None else expected + self.memory.anticipated(errors, origins, ahead)

    def _left_errors(self, start: datetime, ahead: int, is_open: Flags) -> tuple[Floats, Floats | None]:
        """What past corrections left, at about this time of day, shape (trajectories, ahead).

        And the weights by which they are to be drawn, which sum to 1; None for equal ones.
        """
        now = self.errors.size + round((start - self.errors_end).total_seconds() / self.window_s)
        origins, length = alike_origins(self.errors.size, ahead, self.window_s, now=now)
        errors = run_round(self.errors, length, self.window_s)
        leads = np.arange(ahead)
        kept = origins[most_complete(errors[origins[:, None] + leads], is_open)]
        weights = None
        event = lone_event(self.errors, self.window_s)
        if event.any():
            happened = run_round(event.astype(np.float64), length, self.window_s) > 0
            kept, weights = spread_over_the_day(kept, errors, happened, is_open, self.window_s)
        return fill_along(errors[kept[:, None] + leads] - self._expected(errors, kept, ahead)), weights


def corrected(
    series: ArrivalSeries,
    level: SlowLevel,
    transform: Transform,
    hours: OpenHours,
    *,
    self_influence: Floats | None = None,
    memory: Memory | None = None,
) -> CorrectedForecaster:
    """Learn the usual sizes, the correction and the trajectories of a level that was fitted to the same series.

    self_influence: share of each window's own value in its level, shape (windows,); errors are widened to what they
    would have been without it. Leaving it out understates the errors of levels that follow the data closely.
    """
    per_day = windows_per_day(series.window_s)
    raw = standardised_errors(series, level, transform, hours, np.ones(per_day))
    if self_influence is not None:
        raw = raw / np.clip(1.0 - self_influence, 0.25, 1.0)
    slots = week_slots(series.start, series.window_s, raw.size) % per_day
    usual_size = usual_sizes(raw, slots, series.window_s)
    errors = np.maximum(raw / usual_size[slots], LOWEST)
    ahead = min(per_day, max(1, series.counts.size // 2))
    stride = max(1, errors.size // TRAINING_ORIGINS)
    origins = np.arange(min(per_day, errors.size // 4), errors.size - ahead, stride, dtype=np.int64)
    weights = correction_weights(errors, origins, ahead, series.window_s, memory)
    highest = float(np.nanmax(series.counts, initial=0.0))
    return CorrectedForecaster(
        series.window_s, level, transform, hours, usual_size, errors, series.end, weights, highest, memory
    )


def standardised_errors(
    series: ArrivalSeries, level: SlowLevel, transform: Transform, hours: OpenHours, usual_size: Floats
) -> Floats:
    """Errors of the level in usual sizes, shape (windows,); NaN where nothing was observed or the source is closed."""
    slots = week_slots(series.start, series.window_s, series.counts.size)
    raw = transform.forward(series.counts) - level.transformed(series.start, series.counts.size)
    is_open = hours.open_mask(series.start, series.counts.size)
    return np.where(is_open, raw / usual_size[slots % usual_size.size], np.nan)


def usual_sizes(errors: Floats, day_slots: Ints, window_s: int) -> Floats:
    """Usual size of an error per time of day (1.25 × mean absolute error, over ± 45 min), shape (windows of a day,).

    Sizes below a fifth of the day's typical one are lifted to it: a span that happened to be quiet is no certainty.
    """
    per_day = windows_per_day(window_s)
    known = np.isfinite(errors)
    if not known.any():
        return np.ones(per_day)
    magnitude = np.abs(errors[known])
    typical = float(magnitude.mean())
    magnitude = np.minimum(magnitude, 6 * typical)
    total = np.bincount(day_slots[known], weights=magnitude, minlength=per_day)
    seen = np.bincount(day_slots[known], minlength=per_day).astype(float)
    reach = 2700 // window_s
    around = range(-reach, reach + 1)
    total = np.asarray(sum(np.roll(total, shift) for shift in around))
    seen = np.asarray(sum(np.roll(seen, shift) for shift in around))
    # Two observations' worth of the typical size steady what few windows tell.
    sizes = 1.25 * (total + 2 * typical) / (seen + 2)
    return np.asarray(np.maximum(sizes, max(0.2 * typical, 1e-6)))


def current_errors(errors: Floats, origins: Ints, window_s: int) -> Floats:
    """Mean errors over the last 15 min, 2 h and 24 h before each origin, shape (origins, 3).

    A span in which nothing is known takes the value of the next longer one, the longest takes 0.
    """
    known = np.isfinite(errors)
    clipped = np.where(known, np.clip(np.nan_to_num(errors), -CLIP, CLIP), 0.0)
    sums = np.concatenate([[0.0], np.cumsum(clipped)])
    seen = np.concatenate([[0], np.cumsum(known)])
    means = np.zeros((origins.size, len(SPANS_S)))
    fallback = np.zeros(origins.size)
    for column, span_s in reversed(list(enumerate(SPANS_S))):
        begin = np.maximum(0, origins - max(1, span_s // window_s))
        count = seen[origins] - seen[begin]
        total = sums[origins] - sums[begin]
        fallback = np.divide(total, count, out=fallback.copy(), where=count > 0)
        means[:, column] = fallback
    return means


def correction_weights(errors: Floats, origins: Ints, ahead: int, window_s: int, memory: Memory | None) -> Floats:
    """Ridge weights of the current errors for the error at each lead, shape (ahead, 3); 0 where nothing is known."""
    if origins.size < 10:
        return np.zeros((ahead, len(SPANS_S)))
    features = current_errors(errors, origins, window_s)
    targets = errors[origins[:, None] + np.arange(ahead)]
    if memory is not None:
        targets = targets - memory.anticipated(errors, origins, ahead)
    known = np.isfinite(targets)
    targets = np.where(known, np.clip(np.nan_to_num(targets), -CLIP, CLIP), 0.0)
    outer = (features[:, :, None] * features[:, None, :]).reshape(origins.size, -1)
    gram = (known.T.astype(float) @ outer).reshape(ahead, len(SPANS_S), len(SPANS_S))
    # Origins overlap, so their number overstates what they tell; the penalty grows with it.
    penalty = (10.0 + 0.02 * known.sum(axis=0))[:, None, None] * np.eye(len(SPANS_S))
    return np.linalg.solve(gram + penalty, (targets.T @ features)[:, :, None])[:, :, 0]
