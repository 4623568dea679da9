"""Whole error trajectories of the past, drawn at about the same time of day: what makes sample paths joint.

Errors of one forecast hang together over its steps, so the largest rate within a horizon cannot be had from the errors
of single steps. Drawing whole trajectories keeps them together without a model of how they do.
"""

import numpy as np
import numpy.typing as npt

from forecasting.models.time_grid import DAY_S, windows_per_day

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SAME_TIME_OF_DAY_S = 9000
"""Origins within ± 2.5 h of the same time of day count as alike."""
SPACING_S = 900
ENOUGH = 30


def alike_origins(
    length: int, ahead: int, window_s: int, earliest: int = 1, now: int | None = None
) -> tuple[Ints, int]:
    """Origins whose trajectories could follow a moment, and the length of the history that they need.

    An origin o is the index of the first window of its trajectory, which holds windows o to o + ahead - 1. now: the
    moment, counted in windows like an origin; None for the end of the history, which has `length` windows. Origins
    within SAME_TIME_OF_DAY_S of the moment's time of day come first; where they are fewer than ENOUGH, those at any
    time of day. Where even these are too few, trajectories may run round: whole days of the history are repeated, and
    the second value tells how many windows the repeated history has (else it is length).
    """
    stride = max(1, SPACING_S // window_s)
    now = length if now is None else now
    origins = np.arange(length - ahead, earliest - 1, -stride, dtype=np.int64)
    near = origins[_apart_s(origins, now, window_s) <= SAME_TIME_OF_DAY_S]
    if near.size >= ENOUGH:
        return near, length
    if origins.size >= ENOUGH:
        return origins, length
    origins = np.arange(length - 1, earliest - 1, -stride, dtype=np.int64)
    near = origins[_apart_s(origins, now, window_s) <= SAME_TIME_OF_DAY_S]
    return (near if near.size else origins), length + ahead


def _apart_s(origins: Ints, now: int, window_s: int) -> Ints:
    apart_s = (now - origins) * window_s % DAY_S
    return np.minimum(apart_s, DAY_S - apart_s)


def run_round(values: Floats, length: int, window_s: int) -> Floats:
    """The history made `length` long by repeating its last whole days (all of it, where it has none)."""
    more = length - values.size
    if more <= 0:
        return values
    whole = values.size // windows_per_day(window_s) * windows_per_day(window_s) or values.size
    return np.concatenate([values, np.resize(values[-whole:], more)])


def fill_along(trajectories: Floats) -> Floats:
    """Missing errors take the value before them in their trajectory, at its head the one after, else 0."""
    filled = _forward_filled(trajectories)
    filled = _forward_filled(filled[:, ::-1])[:, ::-1]
    return np.nan_to_num(filled, nan=0.0)


def _forward_filled(rows: Floats) -> Floats:
    position = np.where(np.isfinite(rows), np.arange(rows.shape[1]), 0)
    np.maximum.accumulate(position, axis=1, out=position)
    return np.take_along_axis(rows, position, axis=1)


def most_complete(trajectories: Floats, needed: npt.NDArray[np.bool_], share: float = 0.7) -> Ints:
    """Rows known in at least `share` of the needed steps; the ENOUGH most complete ones where too few are."""
    if not needed.any():
        return np.arange(trajectories.shape[0])
    complete = np.isfinite(trajectories[:, needed]).mean(axis=1)
    good = np.flatnonzero(complete >= share)
    return good if good.size >= ENOUGH else np.argsort(-complete, kind="stable")[:ENOUGH]


def drawn(count: int, paths: int, rng: np.random.Generator) -> Ints:
    """Which of `count` trajectories each path takes: every one equally often, as far as that goes."""
    rounds = [rng.permutation(count) for _ in range(-(-paths // count))]
    return np.concatenate(rounds)[:paths]
