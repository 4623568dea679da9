"""Predetermined plans: one that never changes, and several, each requested at its moment (the optimum of hindsight,
or the steps of a schedule).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from modeling.arrays import Ints
from planner.replay.policy import Decision, Seen


class AtMoments:
    """changes: plans by the moment (epoch seconds) at which they are requested, in order; the first runs from the
    start. why: of every change.
    """

    every_s = 60.0

    def __init__(self, name: str, changes: Sequence[tuple[float, Mapping[str, int]]], why: str) -> None:
        self.name, self._changes, self._why = name, changes, why
        self.first: Mapping[str, int] | None = changes[0][1]
        self._next = 1

    def decide(self, seen: Seen) -> Decision | None:
        due = None
        while self._next < len(self._changes) and self._changes[self._next][0] <= seen.at_s:
            due = self._changes[self._next][1]
            self._next += 1
        return None if due is None else Decision(due, self._why)

    def rests(self, seen: Seen, known: Ints) -> int:
        """Until the next change."""
        if self._next == len(self._changes):
            return len(known)
        first_s = seen.at_s - self.every_s * (len(known) - 1)
        before = ceil((self._changes[self._next][0] - first_s) / self.every_s)
        return min(max(before, 0), len(known))


@dataclass(frozen=True)
class StaticPlan:
    """What most teams run. In its best form it knows the coming peak."""

    name: str
    first: Mapping[str, int]
    every_s: float = 86400.0

    def decide(self, seen: Seen) -> Decision | None:
        return None
