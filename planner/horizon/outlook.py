"""The outlook for a search: steps from now on, joint sample paths of the load, and errors of the capacity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from statistics import NormalDist

import numpy as np

from forecasting.forecast import Forecast, grid_conflict
from modeling.arrays import Flags, Floats, Ints
from planner.errors import PlanError
from planner.horizon.ladder import Ladder

PATHS, MIN_PATHS = 100, 20
FINE_STEP_S, FINE_S = 300.0, 24 * 3600.0
"""Step width for the first day, by splitting or joining the forecast's: in wider steps, a spike would last too long."""
COARSE_STEP_S = 900.0
"""Step width after the first day."""
CHANGES_FINE_S = 4 * 3600.0
"""Until then changes may begin with any step, later with coarse ones only: there is time to plan again."""
_ROUNDING_S = 1e-3
CAPACITY_ERROR = 0.02
"""Standard deviation of log(true capacity / believed capacity)."""


@dataclass(frozen=True)
class Outlook:
    """start_s: epoch seconds. edges_s: where steps begin, in seconds from there, and where the last one ends, shape
    (steps + 1,). rate_per_s: shape (sources, steps, paths). changes: whether the job may stop for another plan when a
    step begins, shape (steps,).
    """

    start_s: float
    edges_s: Floats
    rate_per_s: Floats
    changes: Flags

    @property
    def total_per_s(self) -> Floats:
        """Over all sources, shape (steps, paths)."""
        return np.asarray(self.rate_per_s.sum(axis=0))

    @property
    def steps(self) -> int:
        return int(self.rate_per_s.shape[1])

    @property
    def hours(self) -> float:
        return float(self.edges_s[-1]) / 3600.0

    def peak_per_s(self, quantile: float, first: int = 0, last: int | None = None) -> Floats:
        """Rates at the moment of steps [first, last) with the highest total, on the path whose peak is that quantile of
        all paths' peaks; shape (sources,).
        """
        span = self.total_per_s[first:last]
        peaks = span.max(axis=0)
        path = int(peaks.argsort(kind="stable")[max(0, ceil(quantile * peaks.size) - 1)])
        return np.asarray(self.rate_per_s[:, first + int(span[:, path].argmax()), path])

    def split(self, moments_s: Sequence[float]) -> "Outlook":
        """The same, with further step boundaries at these moments, in seconds from the start."""
        inside = [at_s for at_s in moments_s if 0 < at_s < self.edges_s[-1]]
        edges_s = np.unique(np.concatenate([self.edges_s, inside]))
        parts = np.searchsorted(self.edges_s, edges_s[:-1], side="right") - 1
        changes = self.changes[parts] | np.isin(edges_s[:-1], inside)
        return Outlook(self.start_s, edges_s, self.rate_per_s[:, parts], changes)

    def step_at(self, at_s: float) -> int:
        """The step that holds a moment, in seconds from the start."""
        return int(np.searchsorted(self.edges_s, at_s + 1e-9)) - 1

    def span(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Indices of the first step of a span and of the one after its last."""
        first = self.step_at(start_s)
        return first, max(first + 1, int(np.searchsorted(self.edges_s, end_s - 1e-9)))

    def capacity_per_s(self, ladder: Ladder) -> Floats:
        """believed_capacity_per_s times an error that is constant along a path; shape (plans, steps, paths), or
        (plans, 1, paths) if there is one source.
        """
        return np.asarray(self.believed_capacity_per_s(ladder) * _errors(self.rate_per_s.shape[2]))

    def believed_capacity_per_s(self, ladder: Ladder) -> Floats:
        """Of each plan in the mix of each moment and path; shape (plans, steps, paths), or (plans, 1, 1) if there is
        one source.
        """
        sources, steps, count = self.rate_per_s.shape
        if sources == 1:
            return np.asarray(ladder.capacity_per_s(np.ones((1, 1)))[:, :, None])
        total = self.total_per_s
        mix = np.where(total > 0, self.rate_per_s / np.where(total > 0, total, 1.0), 1.0 / sources)
        return np.asarray(ladder.capacity_per_s(mix.reshape(sources, -1)).reshape(-1, steps, count))


def outlook(
    forecasts: Mapping[str, Forecast],
    sources: Sequence[str],
    at_s: float,
    lead_s: float = 0.0,
    *,
    unseen: bool = False,
) -> Outlook | None:
    """From a moment on; None if the forecasts have ended by then. A step begins where the lead time ends. unseen: use
    the paths that are left out otherwise, to judge a choice made on the others; None if there are too few.

    Path n of one source belongs to path n of the others (forecasting.joined_paths). If there are few, each is used
    several times, with different capacity errors. A step that joins several of the forecast's steps has the largest
    rate of each path. Raises PlanError for forecasts on different grids.
    """
    if conflict := grid_conflict(forecasts):
        raise PlanError(conflict)
    of = [forecasts[source] for source in sources]
    step_s = float(of[0].step_s)
    over = max(0, int((at_s - of[0].start.timestamp()) // step_s))
    numbers = _numbers([each.paths_per_s.shape[0] for each in of], unseen=unseen)
    count = numbers[0].size
    paths = np.array([each.paths_per_s[of_source, over:].T for each, of_source in zip(of, numbers, strict=True)])
    if not paths.shape[1] or not count:
        return None
    edges_s = _edges_s(step_s, paths.shape[1])
    if step_s > FINE_STEP_S:
        paths = _sloped(paths, step_s, edges_s)
    else:
        paths = np.maximum.reduceat(paths, np.round(edges_s[:-1] / step_s).astype(int), axis=1)
    started_s = of[0].start.timestamp() + over * step_s
    start_s = max(at_s, started_s)
    now_s, at_steps = _from(edges_s, start_s - started_s, lead_s)
    changes = _changes(now_s[:-1], start_s - of[0].start.timestamp(), _width_s(step_s, COARSE_STEP_S))
    return Outlook(start_s, now_s, np.repeat(paths[:, at_steps], max(1, MIN_PATHS // count), axis=2), changes)


def _from(edges_s: Floats, passed_s: float, lead_s: float) -> tuple[Floats, Ints]:
    """Edges of the remaining steps, with an additional one at the end of the lead time; and for each step the index of
    the original one.
    """
    left_s = edges_s[1:] - passed_s
    left_s = left_s[left_s > 0]
    now_s = np.unique(np.concatenate([[0.0], left_s, [lead_s] if lead_s < left_s[-1] else []]))
    return now_s, np.searchsorted(edges_s, now_s[:-1] + passed_s, side="right") - 1


def _changes(begin_s: Floats, passed_s: float, width_s: float) -> Flags:
    """Whether a change may begin at moments: at any moment of the first hours, later at multiples of width_s from the
    forecast's start (passed_s earlier), so that planning again finds the same moments.
    """
    from_whole_s = np.abs((begin_s + passed_s + width_s / 2) % width_s - width_s / 2)
    return np.asarray((begin_s < CHANGES_FINE_S) | (from_whole_s < _ROUNDING_S))


def _numbers(sizes: Sequence[int], *, unseen: bool) -> list[Ints]:
    """Indices of each source's paths that are used, or unused; empty if those are too few to judge by, or cannot be
    joined.
    """
    fewest = min(sizes)
    # Half of the paths judge, if there are enough of them.
    count = min(PATHS, fewest // 2 if fewest >= 2 * MIN_PATHS else fewest)
    taken = [_spread(size, count) for size in sizes]
    if not unseen:
        return taken
    left = [np.setdiff1d(np.arange(size), numbers) for size, numbers in zip(sizes, taken, strict=True)]
    if len(set(sizes)) > 1 or left[0].size < MIN_PATHS:
        return [each[:0] for each in left]
    return [each[_spread(each.size, min(PATHS, each.size))] for each in left]


def _spread(size: int, count: int) -> Ints:
    """`count` indices below `size`, evenly spaced."""
    return np.asarray(np.arange(count) * size // count)


def _sloped(paths: Floats, step_s: float, edges_s: Floats) -> Floats:
    """Linear interpolation through the middles of a forecast's wide steps: the larger end of each finer step."""
    middles = (edges_s / step_s - 0.5).clip(0.0, paths.shape[1] - 1.0)
    before = np.floor(middles).astype(int)
    after, part = np.minimum(before + 1, paths.shape[1] - 1), (middles - before)[:, None]
    ends = (1 - part) * paths[:, before] + part * paths[:, after]
    return np.asarray(np.maximum(ends[:, :-1], ends[:, 1:]))


def _edges_s(step_s: float, steps: int) -> Floats:
    """Fine steps, then coarse ones; each a multiple of the forecast's step, or a fraction of it."""
    end_s = step_s * steps
    width_s = _width_s(step_s, FINE_STEP_S)
    fine_s = min(max(FINE_S // width_s, 1.0) * width_s, end_s)
    fine = np.arange(0.0, fine_s, width_s)
    coarse = np.arange(fine_s, end_s, _width_s(step_s, COARSE_STEP_S))
    return np.concatenate([fine, coarse, [end_s]])


def _width_s(step_s: float, wanted_s: float) -> float:
    if step_s <= wanted_s:
        return step_s * (wanted_s // step_s)
    return step_s / max(1, step_s // wanted_s)


@lru_cache(8)
def _errors(count: int) -> Floats:
    """Factors of true over believed capacity, evenly spaced in their distribution; deterministic."""
    parts = np.random.default_rng(0).permutation((np.arange(count) + 0.5) / count)
    errors: Floats = np.exp([NormalDist(sigma=CAPACITY_ERROR).inv_cdf(part) for part in parts])
    errors.flags.writeable = False
    return errors
