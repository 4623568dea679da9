"""Total use of a quota over time, and whether one topology's holding may be replaced."""

from collections.abc import Sequence

import numpy as np

from modeling.arrays import Floats, Ints
from planner.fleet.holding import Holding, moments_s
from planner.fleet.terms import Quota


class QuotaUse:
    """The total as a step function of time. An update costs as much as it moves, independent of the fleet's size."""

    def __init__(self, quota: Quota, holdings: Sequence[Holding]) -> None:
        """Ignores holdings of topologies outside the quota."""
        self.quota = quota
        own = [each for each in holdings if each.name in quota.topologies]
        changes = [_changes(each) for each in own]
        at_s = np.concatenate([np.empty(0), *(begins_s for begins_s, _ in changes)])
        more = np.concatenate([np.empty(0, dtype=np.int64), *(each for _, each in changes)])
        order = np.argsort(at_s, kind="stable")
        first = sum(each.running for each in own)
        self._begins_s: Floats = np.concatenate([[-np.inf], at_s[order]])
        """A moment may occur several times; its last entry counts from then on."""
        self._held: Ints = first + np.concatenate([[0], np.cumsum(more[order])])

    def passed_by(self, before: Holding, changed: Holding) -> bool:
        """Whether the quota is exceeded at a moment at which the changed holding has more than before."""
        edges_s = _edges_s(before, changed)
        if not edges_s.size:
            return False
        first, last = np.searchsorted(self._begins_s, edges_s[[0, -1]], side="left")
        at_s = np.concatenate([edges_s[:-1], self._begins_s[first:last]])
        held = self._held[np.searchsorted(self._begins_s, at_s, side="right") - 1]
        more = changed.held(at_s) - before.held(at_s)
        return bool(((more > 0) & (held + more > self.quota.instances)).any())

    def change(self, before: Holding, changed: Holding) -> None:
        """Replace one holding with another."""
        edges_s = _edges_s(before, changed)
        if not edges_s.size:
            return
        places = np.searchsorted(self._begins_s, edges_s, side="right")
        self._held = np.insert(self._held, places, self._held[places - 1])
        self._begins_s = np.insert(self._begins_s, places, edges_s)
        inside = slice(places[0], places[-1] + edges_s.size)
        at_s = self._begins_s[inside]
        self._held[inside] += changed.held(at_s) - before.held(at_s)


def _changes(holding: Holding) -> tuple[Floats, Ints]:
    """When a holding changes, in epoch seconds, and by how many instances."""
    at_s = np.array([step.deploy_at.timestamp() for step in holding.schedule.steps])
    return at_s, np.diff(holding.held(np.concatenate([[-np.inf], at_s])))


def _edges_s(before: Holding, changed: Holding) -> Floats:
    """Moments at which either of two holdings of a topology changes, from the first to the end of the last difference,
    in epoch seconds; empty if they are equal.
    """
    at_s = np.append(moments_s([before, changed]), np.inf)
    which = np.flatnonzero(before.held(at_s) != changed.held(at_s))
    return at_s[which[0] : which[-1] + 2] if which.size else at_s[:0]
