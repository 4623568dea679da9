"""How much of their capacity plans use over a horizon; several sources peak at moments of their own."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from modeling.arrays import Floats, Ints
from planner.horizon.ladder import Ladder
from planner.horizon.outlook import Outlook


@dataclass(frozen=True)
class CapacityUse:
    """Load over believed capacity in the mix of each moment, of each plan of a ladder. instead: the plan that runs in
    its place in each step, shape (plans, steps); None if it runs itself.
    """

    ahead: Outlook
    ladder: Ladder
    instead: Ints | None = None

    def of(
        self,
        quantile: float,
        first: int = 0,
        last: int | None = None,
        *,
        each_moment: bool = False,
        plans: slice = slice(None),
    ) -> Floats:
        """The quantile over the paths of the peak in steps [first, last); shape (plans,). each_moment: instead the peak
        of each step's own quantile. Spikes that come at another moment on each path do not add up then.
        """
        if self._one_source:
            asked = self._number(quantile), first, last, each_moment
            if asked not in self._peaks_per_s:
                self._peaks_per_s[asked] = self._peak_of_one_source(*asked)
            return np.asarray(self._peaks_per_s[asked] / self._capacity_per_s[plans])
        span = self._used[plans, first:last]
        by_path = span if each_moment else span.max(axis=1, keepdims=True)
        number = self._number(quantile)
        return np.asarray(np.partition(by_path, number, axis=2)[:, :, number].max(axis=1))

    def _peak_of_one_source(self, number: int, first: int, last: int | None, each_moment: bool) -> np.float64:
        span = self.ahead.total_per_s[first:last]
        by_path = span if each_moment else span.max(axis=0, keepdims=True)
        return np.float64(np.partition(by_path, number, axis=1)[:, number].max())

    @cached_property
    def _peaks_per_s(self) -> dict[tuple[int, int, int | None, bool], np.float64]:
        """By all that they depend on: many plans are asked for the same span."""
        return {}

    def peak_per_s(self, plan: int, quantile: float, first: int = 0, last: int | None = None) -> Floats:
        """Rates at the moment of steps [first, last) at which a plan is busiest, on the path whose peak is that
        quantile of all paths' peaks; shape (sources,).
        """
        span = self.ahead.total_per_s[first:last] if self._one_source else self._used[plan, first:last]
        path = int(span.max(axis=0).argsort(kind="stable")[self._number(quantile)])
        return np.asarray(self.ahead.rate_per_s[:, first + int(span[:, path].argmax()), path])

    @property
    def _one_source(self) -> bool:
        return len(self.ahead.rate_per_s) == 1 and self.instead is None

    def _number(self, quantile: float) -> int:
        return max(0, ceil(quantile * int(self.ahead.rate_per_s.shape[2])) - 1)

    @cached_property
    def _capacity_per_s(self) -> Floats:
        """For the only source, shape (plans,)."""
        return self.ladder.capacity_per_s(np.ones((1, 1)))[:, 0]

    @cached_property
    def _used(self) -> Floats:
        """Shape (plans, steps, paths)."""
        used = np.asarray(self.ahead.total_per_s / self.ahead.believed_capacity_per_s(self.ladder))
        return used if self.instead is None else np.take_along_axis(used, self.instead[:, :, None], axis=0)
