"""From a slow level to joint sample paths: correct by the current error, then add past error trajectories.

Errors are measured on a transformed scale in units of their usual size at that time of day, so that errors of a busy
noon are not applied to a quiet night. The correction regresses the error at each lead on the mean errors of the last 15
minutes, 2 hours and 24 hours. The remaining errors are drawn as whole trajectories.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Protocol

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.models.closures import without_closures
from forecasting.models.error_trajectories import (
    alike_origins,
    drawn,
    drawn_by_weight,
    fill_along,
    hour_has_shape,
    lone_event,
    most_complete,
    run_round,
    spread_over_the_day,
    windows_from,
)
from forecasting.models.open_hours import OpenHours
from forecasting.models.slow_level import SlowLevel
from forecasting.models.time_grid import DAY_S, newest, week_slots, windows_per_day
from forecasting.models.transform import Transform

SPANS_S = (900, 7200, DAY_S)
CLIP = 4.0
"""Errors beyond this many usual sizes indicate an event, not a change of level."""
LOWEST = -5.0
TRAINING_ORIGINS = 500
"""Their spans overlap, so more origins add little: over seven traces the loss is the same with 2,000."""
ROWS, NUMBERS = 64, 64 * 1440
"""Paths, and their steps, computed at once: few enough to stay in the processor's cache."""
LEAD_S = 60
"""Leads closer than this share the weights of the correction."""
CAP = 3.0
"""No path exceeds this many times the largest count ever seen: an exponential must not explode."""


class Memory(Protocol):
    """A forecaster's own model of how its errors continue, beyond the common correction."""

    def states(self, errors: Floats) -> Floats:
        """States before each window and after the last, shape (windows + 1, numbers)."""
        ...

    def anticipated(self, states: Floats, ahead: int, every: int = 1) -> Floats:
        """Expected errors of each `every`-th of the `ahead` windows after each state, shape (states, windows)."""
        ...


class ErrorRecord:
    """Errors with precomputed sums over spans and states of a memory, as every forecast reads them.

    Computed once and read at any number of origins. Origin o is the index of the first unknown window.
    """

    def __init__(self, errors: Floats, window_s: int, memory: Memory | None) -> None:
        self.errors = errors
        self.window_s = window_s
        self.memory = memory
        self.known = np.isfinite(errors)
        clipped = np.where(self.known, np.clip(errors, -CLIP, CLIP), 0.0)
        self._sums = np.concatenate([[0.0], np.cumsum(clipped)])
        self._seen = np.concatenate([[0], np.cumsum(self.known)])
        self._states = None if memory is None else memory.states(errors)

    def following(self, origins: Ints, ahead: int, every: int = 1) -> Floats:
        """Errors of each `every`-th of the windows o to o + ahead - 1 of each origin, shape (origins, windows)."""
        return windows_from(self.errors, origins, ahead, every)

    def current(self, origins: Ints) -> Floats:
        """Mean errors over the last 15 min, 2 h and 24 h before each origin, shape (origins, 3).

        A span without known errors takes the value of the next longer one; the longest takes 0.
        """
        means = np.zeros((origins.size, len(SPANS_S)))
        fallback = np.zeros(origins.size)
        sums, seen = self._sums[origins], self._seen[origins]
        for column, span_s in reversed(list(enumerate(SPANS_S))):
            begin = np.maximum(0, origins - max(1, span_s // self.window_s))
            count = seen - self._seen[begin]
            fallback = np.divide(sums - self._sums[begin], count, out=fallback.copy(), where=count > 0)
            means[:, column] = fallback
        return means

    def anticipated(self, origins: Ints, ahead: int, every: int = 1) -> Floats | None:
        """Errors that the memory expects for the windows of `following`, same shape; None without a memory."""
        if self.memory is None or self._states is None:
            return None
        return self.memory.anticipated(self._states[origins], ahead, every)


def expected_errors(record: ErrorRecord, origins: Ints, current: Floats, weights: Floats) -> Floats:
    """Errors expected after each origin, shape (origins, steps).

    current: mean errors before the origins, as `ErrorRecord.current` gives them. weights: shape (steps, 3).
    """
    expected = np.asarray(current @ weights.T)
    anticipated = record.anticipated(origins, weights.shape[0])
    if anticipated is not None:
        expected += anticipated
    return expected


@dataclass(frozen=True)
class CorrectedForecaster:
    """A slow level with its correction (FittedForecaster).

    errors: of the training history, in usual sizes. errors_end: end of their last window. learns_from: number of newest
    windows of a history that it learns from, None for all.
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
        recent = newest(without_closures(recent), 3 * per_day)
        errors = standardised_errors(recent, self.level, self.transform, self.hours, self.usual_size)
        now = ErrorRecord(errors, self.window_s, self.memory)
        here = np.array([errors.size])
        expected = expected_errors(now, here, now.current(here), self._weights_of(steps))[0]
        is_open = self.hours.open_mask(recent.end, steps)
        record, origins, weights = self._alike(recent.end, steps, is_open)
        taken = drawn(origins.size, paths, rng) if weights is None else drawn_by_weight(weights, paths, rng)
        # Compute each drawn trajectory once, and none that is not drawn.
        several = origins.size <= paths
        origins = origins if several else origins[taken]
        usual_size = self.usual_size[week_slots(recent.end, self.window_s, steps) % per_day]
        level = self.level.transformed(recent.end, steps) + expected * usual_size
        highest = max(self.highest_count, float(np.nanmax(recent.counts, initial=0.0)))
        rates_per_s = np.empty((origins.size, steps))
        current, weights_of_steps = record.current(origins), self._weights_of(steps)
        at_once = max(1, min(ROWS, NUMBERS // steps))
        for first in range(0, origins.size, at_once):
            block = slice(first, first + at_once)
            some, rows = origins[block], rates_per_s[block]
            left = record.following(some, steps)
            left -= expected_errors(record, some, current[block], weights_of_steps)
            np.multiply(fill_along(left), usual_size, out=rows)
            rows += level
            self.transform.invert(rows)
            np.minimum(rows, CAP * highest, out=rows)
            rows /= self.window_s
        if not is_open.all():
            rates_per_s[:, ~is_open] = 0.0
        return rates_per_s[taken] if several else rates_per_s

    def refreshed(self, series: ArrivalSeries) -> "CorrectedForecaster":
        series = without_closures(series)
        if self.learns_from is not None:
            series = newest(series, self.learns_from)
        refreshed = corrected(series, self.level, self.transform, self.hours, memory=self.memory)
        return replace(refreshed, learns_from=self.learns_from)

    @cached_property
    def _past(self) -> tuple[ErrorRecord, Flags]:
        """The errors of the training history, and which of them belong to a unique event."""
        return ErrorRecord(self.errors, self.window_s, self.memory), lone_event(self.errors, self.window_s)

    @cached_property
    def _hourly(self) -> bool:
        return hour_has_shape(self.errors, self.window_s)

    def _weights_of(self, steps: int) -> Floats:
        # Beyond the fitted leads the last one applies: by then little of the current error is left.
        return np.asarray(self.weights[np.minimum(np.arange(steps), self.weights.shape[0] - 1)])

    def _alike(self, start: datetime, ahead: int, is_open: Flags) -> tuple[ErrorRecord, Ints, Floats | None]:
        """Origins of past errors at about this time of day, with the record that contains the errors after them.

        And the weights for drawing them, which sum to 1; None for equal weights.
        """
        record, event = self._past
        now = self.errors.size + round((start - self.errors_end).total_seconds() / self.window_s)
        if 0 < now < self.errors.size:
            # It is asked what was to be expected at an earlier moment: no error after it was known.
            record = ErrorRecord(self.errors[:now], self.window_s, self.memory)
            event = lone_event(record.errors, self.window_s)
        size = record.errors.size
        origins, length = alike_origins(size, ahead, self.window_s, now=now, hourly=self._hourly)
        if length > size:
            record = ErrorRecord(run_round(record.errors, length, self.window_s), self.window_s, self.memory)
        kept = origins[most_complete(record.known, origins, is_open)]
        if not event.any():
            return record, kept, None
        happened = run_round(event.astype(np.float64), length, self.window_s) > 0
        return record, *spread_over_the_day(kept, record.errors, happened, is_open, self.window_s)


def corrected(
    series: ArrivalSeries,
    level: SlowLevel,
    transform: Transform,
    hours: OpenHours,
    *,
    leverage: Floats | None = None,
    memory: Memory | None = None,
    leads: int | None = None,
) -> CorrectedForecaster:
    """Learn the error scale, the correction and the trajectories of a level fitted to the same series.

    leads: number of windows ahead for which the correction is learnt, None for a day; beyond, the last one applies.
    leverage: share of each window's own value in its level, shape (windows,); errors are widened to what they would
    have been without it. Omitting it understates the errors of levels that follow the data closely.
    """
    per_day = windows_per_day(series.window_s)
    raw = standardised_errors(series, level, transform, hours, np.ones(per_day))
    if leverage is not None:
        raw = raw / np.clip(1.0 - leverage, 0.25, 1.0)
    slots = week_slots(series.start, series.window_s, raw.size) % per_day
    usual_size = error_scales(raw, slots, series.window_s)
    errors = np.maximum(raw / usual_size[slots], LOWEST)
    ahead = min(per_day, max(1, series.counts.size // 2))
    stride = max(1, errors.size // TRAINING_ORIGINS)
    origins = np.arange(min(per_day, errors.size // 4), errors.size - ahead, stride, dtype=np.int64)
    weights = correction_weights(ErrorRecord(errors, series.window_s, memory), origins, min(ahead, leads or ahead))
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


def error_scales(errors: Floats, day_slots: Ints, window_s: int) -> Floats:
    """Usual size of an error per time of day (1.25 × mean absolute error, over ± 45 min), shape (windows of a day,).

    Sizes below a fifth of the day's typical one are raised to it, since a span may have been quiet by chance.
    """
    per_day = windows_per_day(window_s)
    known = np.isfinite(errors)
    if not known.any():
        return np.ones(per_day)
    magnitude = np.abs(errors[known])
    typical = float(magnitude.mean())
    magnitude = np.minimum(magnitude, 6 * typical)
    reach = 2700 // window_s
    total = circular_sums(np.bincount(day_slots[known], weights=magnitude, minlength=per_day).astype(np.float64), reach)
    seen = circular_sums(np.bincount(day_slots[known], minlength=per_day).astype(np.float64), reach)
    # Shrink estimates from few windows towards the typical size, with the weight of two observations.
    sizes = 1.25 * (total + 2 * typical) / (seen + 2)
    return np.asarray(np.maximum(sizes, max(0.2 * typical, 1e-6)))


def circular_sums(circle: Floats, reach: int) -> Floats:
    """Sums over the values within `reach` places of each, around the circle; same shape."""
    around = np.concatenate([circle[circle.size - reach :], circle, circle[:reach]])
    sums = np.concatenate([[0.0], np.cumsum(around)])
    return np.asarray(sums[2 * reach + 1 :] - sums[: -2 * reach - 1])


def correction_weights(record: ErrorRecord, origins: Ints, ahead: int) -> Floats:
    """Ridge weights of the current errors for the error at each lead, shape (ahead, 3); 0 without data.

    They are learnt at leads LEAD_S apart, or at every lead if windows are longer.
    """
    if origins.size < 10:
        return np.zeros((ahead, len(SPANS_S)))
    every = max(1, LEAD_S // record.window_s)
    features = record.current(origins)
    targets = record.following(origins, ahead, every)
    anticipated = record.anticipated(origins, ahead, every)
    if anticipated is not None:
        targets = targets - anticipated
    known = np.isfinite(targets)
    targets = np.clip(targets, -CLIP, CLIP, out=targets)
    # Without missing errors, all leads share one computation.
    seen = known[:, :1] if known.all() else known
    if seen is known:
        targets[~known] = 0.0
    outer = (features[:, :, None] * features[:, None, :]).reshape(origins.size, -1)
    gram = (seen.T.astype(float) @ outer).reshape(-1, len(SPANS_S), len(SPANS_S))
    # Overlapping origins overstate the information, so the penalty grows with their number.
    penalty = (10.0 + 0.02 * seen.sum(axis=0))[:, None, None] * np.eye(len(SPANS_S))
    weights = np.linalg.solve(gram + penalty, (targets.T @ features)[:, :, None])[:, :, 0]
    return np.repeat(weights, every, axis=0)[:ahead]
