"""Draws whole past error trajectories from about the same time of day, which makes sample paths joint.

Errors of one forecast are correlated over its steps, so the peak within a horizon cannot be derived from the errors of
single steps. Drawing whole trajectories preserves the correlation without modelling it.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from forecasting.arrays import Flags, Floats, Ints
from forecasting.models.time_grid import DAY_S, windows_per_day

Value = TypeVar("Value", bound=np.generic)

SAME_TIME_OF_DAY_S = 9000
"""Origins within ± 2.5 h of the same time of day count as alike."""
SPACING_S = 900
HOUR_S = 3600
MIN_HOUR_SHARE = 0.05
"""Share of the variance within the hour from which on its shape matters: below, four times as many trajectories are
worth more."""
MIN_HOURS = 48
ENOUGH = 30
COMPLETE = 0.7
ALONE = 4.0
"""An event is unique if its error is this many times the largest one of all other days. At a factor of three, real
traces have such days, and some of them do recur at their time of day: there the p99 at 24 h gets worse."""
SOON_S = 21600


def alike_origins(
    length: int, ahead: int, window_s: int, earliest: int = 1, now: int | None = None, hourly: bool = False
) -> tuple[Ints, int]:
    """Origins whose trajectories could follow a moment, and the required length of the history.

    An origin o is the index of the first window of its trajectory, which holds windows o to o + ahead - 1. now: the
    moment, counted in windows like an origin; None for the end of the history, which has `length` windows. hourly: take
    them from the same minute of the hour only, if enough are. Origins
    within SAME_TIME_OF_DAY_S of the moment's time of day are preferred; if they are fewer than ENOUGH, those at any
    time of day are used. If even these are too few, trajectories wrap around: whole days of the history are repeated,
    and the second value is the number of windows of the repeated history (else it is length).
    """
    stride = max(1, SPACING_S // window_s)
    now = length if now is None else now
    if hourly and HOUR_S % window_s == 0:
        per_hour = HOUR_S // window_s
        last = length - ahead
        near = np.arange(last - (last - now) % per_hour, earliest - 1, -per_hour, dtype=np.int64)
        near = near[_apart_s(near, now, window_s) <= SAME_TIME_OF_DAY_S]
        if near.size >= ENOUGH:
            return near, length
    origins = np.arange(length - ahead, earliest - 1, -stride, dtype=np.int64)
    near = origins[_apart_s(origins, now, window_s) <= SAME_TIME_OF_DAY_S]
    if near.size >= ENOUGH:
        return near, length
    if origins.size >= ENOUGH:
        return origins, length
    origins = np.arange(length - 1, earliest - 1, -stride, dtype=np.int64)
    near = origins[_apart_s(origins, now, window_s) <= SAME_TIME_OF_DAY_S]
    return (near if near.size else origins), length + ahead


def hour_has_shape(errors: Floats, window_s: int) -> bool:
    """Whether the same minutes of the hour err alike, as jobs that start on the hour make them.

    The share of the variance within hours that their common shape explains is estimated without bias: the mean shape of
    every other hour times that of the hours between them. Errors, shape (windows,), NaN where missing.
    """
    per_hour = HOUR_S // window_s
    whole = errors.size // per_hour if HOUR_S % window_s == 0 else 0
    if per_hour < 2 or whole < MIN_HOURS:
        return False
    hours = np.clip(errors[errors.size - whole * per_hour :].reshape(whole, per_hour), -ALONE, ALONE)
    hours = hours[np.isfinite(hours).all(axis=1)]
    if hours.shape[0] < MIN_HOURS:
        return False
    within = hours - hours.mean(axis=1, keepdims=True)
    shared = float((within[::2].mean(axis=0) * within[1::2].mean(axis=0)).mean())
    return shared > MIN_HOUR_SHARE * float((within**2).mean())


def _apart_s(origins: Ints, now: int, window_s: int) -> Ints:
    apart_s = (now - origins) * window_s % DAY_S
    return np.minimum(apart_s, DAY_S - apart_s)


def run_round(values: Floats, length: int, window_s: int) -> Floats:
    """The history extended to `length` by repeating its last whole days (all of it, if shorter than a day)."""
    more = length - values.size
    if more <= 0:
        return values
    whole = values.size // windows_per_day(window_s) * windows_per_day(window_s) or values.size
    return np.concatenate([values, np.resize(values[-whole:], more)])


def fill_along(trajectories: Floats) -> Floats:
    """Missing errors take the previous value of their trajectory, at its start the next one, else 0."""
    if np.isfinite(trajectories).all():
        return trajectories
    return np.nan_to_num(filled_both_ways(trajectories), nan=0.0)


def filled_both_ways(rows: Floats) -> Floats:
    """Each row filled forwards, then backwards; a row without known values stays missing."""
    for _ in range(2):
        position = np.where(np.isfinite(rows), np.arange(rows.shape[1]), 0)
        np.maximum.accumulate(position, axis=1, out=position)
        rows = np.take_along_axis(rows, position, axis=1)[:, ::-1]
    return rows


def windows_from(values: npt.NDArray[Value], origins: Ints, ahead: int, every: int = 1) -> npt.NDArray[Value]:
    """Each `every`-th of the `ahead` values from each origin on, shape (origins, -(-ahead // every)).

    values: at least `ahead`.
    """
    values = np.ascontiguousarray(values)
    # What sliding_window_view gives, without the checks that take longer than some gathers.
    shape, size = (values.size - ahead + 1, -(-ahead // every)), values.itemsize
    windows = np.ndarray(shape, values.dtype, values, strides=(size, every * size))
    return windows[origins]


def most_complete(known: Flags, origins: Ints, needed: Flags, share: float = COMPLETE) -> Ints:
    """Numbers of the origins known in at least `share` of the needed steps; if too few, of the ENOUGH most complete
    ones.

    known: of the history, shape (windows,). needed: steps that must be known, shape (ahead,).
    """
    if not needed.any() or known.all():
        return np.arange(origins.size)
    complete = windows_from(known, origins, needed.size)[:, needed].mean(axis=1)
    good = np.flatnonzero(complete >= share)
    return good if good.size >= ENOUGH else np.argsort(-complete, kind="stable")[:ENOUGH]


def drawn(count: int, paths: int, rng: np.random.Generator) -> Ints:
    """Trajectory index (of `count`) per path: each equally often, as far as possible."""
    rounds = [rng.permutation(count) for _ in range(-(-paths // count))]
    return np.concatenate(rounds)[:paths]


def drawn_by_weight(weights: Floats, paths: int, rng: np.random.Generator) -> Ints:
    """Trajectory index per path, in proportion to the weights up to rounding. Weights sum to 1."""
    order = rng.permutation(weights.size)
    # Systematic resampling: one random offset, equal steps along the summed weights.
    at = (rng.random() + np.arange(paths)) / paths
    taken = np.searchsorted(np.cumsum(weights[order]), at, side="right")
    return np.asarray(rng.permutation(order[np.minimum(taken, weights.size - 1)]), dtype=np.int64)


def lone_event(errors: Floats, window_s: int) -> Flags:
    """The windows of the unique event in these errors, if there is one, shape (windows,).

    They are those within half a day of the largest error that exceed every error further away, provided that the
    largest is ALONE times that. An event that happened twice is not unique.
    """
    known = np.where(np.isfinite(errors), errors, -np.inf)
    largest = int(known.argmax())
    near = np.abs(np.arange(errors.size) - largest) <= windows_per_day(window_s) // 2
    elsewhere = float(known[~near].max(initial=0.0))
    alone = not near.all() and known[largest] > ALONE * elsewhere
    return near & (known > elsewhere) if alone else np.zeros(errors.size, dtype=np.bool_)


def spread_over_the_day(
    origins: Ints, errors: Floats, event: Flags, needed: Flags, window_s: int
) -> tuple[Ints, Floats | None]:
    """Origins with weights that allow a unique event at any time of day; None for equal weights.

    Origins at about the same time of day would put the event into the next hours whenever it once happened at about
    this time: five times as often as its one day justifies, so that it would dominate the peak of a single hour.
    Origins that would put it into the next SOON_S therefore give their weight, at most about one over the number of
    days, to all trajectories that contain it: over a day it weighs as much as before, within an hour in proportion to
    an hour's share of the day.

    errors, event: of the history, shape (windows,); needed: steps that must be known, shape (ahead,).
    """
    ahead = needed.size
    soon = _holding(event, origins, min(ahead, max(1, SOON_S // window_s)))
    first, last = np.flatnonzero(event)[[0, -1]]
    stride = max(1, SPACING_S // window_s)
    anywhere = np.arange(max(1, first - ahead + 1), min(last, errors.size - ahead) + 1, stride, dtype=np.int64)
    anywhere = anywhere[_holding(event, anywhere, ahead)]
    if needed.any() and anywhere.size:
        known = windows_from(np.isfinite(errors), anywhere, ahead)[:, needed]
        anywhere = anywhere[known.mean(axis=1) >= COMPLETE]
    if not soon.any() or soon.all() or not anywhere.size:
        return origins, None
    weights = [np.full((~soon).sum(), 1 / origins.size), np.full(anywhere.size, soon.mean() / anywhere.size)]
    return np.concatenate([origins[~soon], anywhere]), np.concatenate(weights)


def _holding(event: Flags, origins: Ints, steps: int) -> Flags:
    """Whether the first `steps` windows from each origin contain any of the event."""
    sums = np.concatenate([[0], np.cumsum(event)])
    return np.asarray(sums[origins + steps] > sums[origins])
