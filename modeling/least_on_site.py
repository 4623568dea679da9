"""The least parallelism that carries a load as packed on a site: nodes differ, containers are small, links fill.

A packing may put any instance anywhere, so operators no longer stand alone: the search adds instances where they help
most, then removes what is not needed. Use least_parallelism where packings do not matter.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heapreplace
from math import ceil, inf, sqrt
from types import MappingProxyType

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.site import NOWHERE
from modeling.least_parallelism import ROUNDING, Counts, LatencyBounds, Question, least_count

MAX_STEP = 64
"""The search gives up when this many instances more of each operator do not help."""
MAX_LEVELS, TOGETHER, IDLE = 48, 16, 0.02
"""Numbers of instances that the hardest working operators have in common; parallelisms that are asked of at once; part
of the work of the hardest working operator up to which another is left out.
"""

_TWICE = 2.0
"""As many slots are tried at most as were too few before."""

CanPack = Callable[[Counts], bool]
Together = Sequence[Sequence[str]]
"""Operators that share slots: what one instance more of the largest leaves free in its slot, the others have too."""
NONE_KEPT: Counts = MappingProxyType({})


def fewest_on_site(
    question: Question,
    begun: Counts,
    bounds: LatencyBounds,
    can_pack: CanPack,
    max_instances: int,
    least: Counts = NONE_KEPT,
    together: Together = (),
) -> tuple[dict[str, int], float]:
    """A parallelism that keeps all bounds as packed, and its largest ratio to a bound: at most ROUNDING if it holds;
    else that of the best one that was tried, infinite if none could be packed.

    begun: where the search begins, a parallelism that keeps the utilisation where packings do not matter. can_pack:
    whether question.packed has a packing. least: instances that an operator keeps, at least 1. together: operators that
    get the same parallelism, unless only others are within max_instances; all others stand alone. No single instance
    more can be left out, but a cheaper parallelism may exist.
    """
    alone = _Search(question, bounds, can_pack, max_instances, least, ())
    if together:
        search = _Search(question, bounds, can_pack, max_instances, least, together)
        counts, excess = search.grown_together(in_whole_slots(question, begun, together))
        if excess <= ROUNDING:
            return search.lowered(counts), excess
        counts, excess = alone.spread(begun, together)
    else:
        counts, excess = alone.grown(dict(begun))
        if not excess <= ROUNDING:
            counts, excess = min((counts, excess), alone.levelled(begun), key=lambda tried: tried[1])
    return (alone.lowered(counts), excess) if excess <= ROUNDING else (counts, excess)


def in_whole_slots(question: Question, counts: Counts, together: Together) -> dict[str, int]:
    """With as many instances of each operator as those that share its slots have, where the question allows it."""
    raised = dict(counts)
    for names in together:
        highest = max(counts[name] for name in names)
        raised |= {name: max(counts[name], min(question.counts(name)[-1], highest)) for name in names}
    return raised


class _Search:
    def __init__(
        self,
        question: Question,
        bounds: LatencyBounds,
        can_pack: CanPack,
        max_instances: int,
        least: Counts,
        together: Together,
    ) -> None:
        self._question, self._bounds, self._can_pack = question, bounds, can_pack
        self._max_instances, self._least = max_instances, least
        self._most = {name: question.counts(name)[-1] for name in question.topology.order}
        self._known = dict[tuple[int, ...], float]()
        self._together = together
        several = {name for names in together for name in names}
        self._units = [list(names) for names in together]
        self._units += [[name] for name in question.topology.order if name not in several]

    def excess(self, several: Sequence[Counts]) -> Floats:
        """Infinite for what cannot be packed or has too many instances, shape (parallelisms,)."""
        keys = [tuple(one.values()) for one in several]
        new = {key: one for key, one in zip(keys, several, strict=True) if key not in self._known}
        fits = {key: one for key, one in new.items() if self._allowed(one) and self._can_pack(one)}
        self._known |= dict.fromkeys(new, inf)
        if fits:
            found = self._question.excess(list(fits.values()), self._bounds)
            self._known |= zip(fits, found.tolist(), strict=True)
        return np.array([self._known[key] for key in keys])

    def grown(self, counts: dict[str, int]) -> tuple[dict[str, int], float]:
        excess, step = float(self.excess([counts])[0]), 1
        while not excess <= ROUNDING and step <= MAX_STEP:
            # With more steps it is asked anew of the same counts, and did not help.
            wider = self._relieved(counts) if step == 1 and excess < inf else counts
            after = float(self.excess([wider])[0]) if wider != counts else inf
            if not after < excess * (1 - 1e-9):
                tries = [self._more(counts, names, step) for names in self._units]
                tries = [each for each in (*tries, self._more(counts, list(counts), step)) if each != counts]
                if not tries and wider == counts:
                    break
                several = self.excess(tries)
                best = int(several.argmin()) if tries else 0
                wider, after = (tries[best], float(several[best])) if tries else (counts, inf)
            if after < excess * (1 - 1e-9):
                counts, excess, step = wider, after, 1
            else:
                step *= 2
        return counts, excess

    def grown_together(self, counts: dict[str, int]) -> tuple[dict[str, int], float]:
        """As grown; by bisection where all operators share slots."""
        if len(self._units) > 1:
            return self.grown(counts)

        def level(slots: int) -> dict[str, int]:
            return {name: max(count, min(self._most[name], slots)) for name, count in counts.items()}

        def at(slots: int) -> tuple[dict[str, int], float]:
            return level(slots), float(self.excess([level(slots)])[0])

        slots = max(counts.values())
        beyond = range(slots, max(self._most.values()) + 1)
        highest = slots - 1 + bisect_left(beyond, True, key=lambda slots: not self._allowed(level(slots)))
        too_few, (found, excess) = slots, at(slots)
        while not excess <= ROUNDING:
            if slots >= highest:
                return found, excess
            too_few, slots = slots, min(highest, max(slots + 1, ceil(slots * min(_TWICE, excess))))
            found, excess = at(slots)
        return _fewest_slots(at, too_few, slots, (found, excess))

    def spread(self, begun: Counts, together: Together) -> tuple[dict[str, int], float]:
        """Of the parallelisms with all instances that are allowed, the one with the fewest slots that holds, else the
        one whose slots have the least work.
        """
        counts = dict(begun)
        if self.excess([counts])[0] < inf and self._allowed(relieved := self._relieved(counts)):
            counts = relieved
        work = self._cores(counts)
        # Of instances of a group, Σ work / count is least, n, with counts by √work: (Σ √work)² / n. Groups are alike
        # busy if each has as many as its Σ √work asks for.
        for names in together:
            of_group = sum(sqrt(work[name]) for name in names) ** 2
            work |= {name: work[name] * of_group for name in names}

        def at(slots: int) -> tuple[dict[str, int], float]:
            several = self._shared_out(counts, work, slots)
            return several, float(self.excess([several])[0])

        too_few = max(counts.values()) - 1
        found, excess = at(max(self._most.values()))
        if excess == inf:
            beyond = range(too_few + 1, max(found.values()) + 1)
            packed = bisect_left(
                beyond, True, key=lambda slots: not self._can_pack(self._shared_out(counts, work, slots))
            )
            found, excess = at(too_few + max(1, packed))
        return (
            _fewest_slots(at, too_few, max(found.values()), (found, excess)) if excess <= ROUNDING else (found, excess)
        )

    def _shared_out(self, counts: Counts, work: Mapping[str, float], slots: int) -> dict[str, int]:
        """With all further instances that are allowed, up to `slots` of an operator: each lowers work / count most."""
        shared, left = dict(counts), self._max_instances - sum(counts.values())

        def relief(name: str) -> tuple[float, str]:
            return -work[name] / (shared[name] * (shared[name] + 1)), name

        heap = [relief(name) for name, count in shared.items() if count < min(slots, self._most[name])]
        heapify(heap)
        while heap and left > 0:
            name, left = heap[0][1], left - 1
            shared[name] += 1
            if shared[name] < min(slots, self._most[name]):
                heapreplace(heap, relief(name))
            else:
                heappop(heap)
        return shared

    def _cores(self, counts: Counts) -> dict[str, float]:
        """Cores that each operator's tuples take where none is in the way of another."""
        question = self._question
        used = replace(question, site=NOWHERE, packed=None).used([counts])[0]
        cores = dict[str, float]()
        for at, name in enumerate(question.topology.order):
            of = question.profiles[name]
            computed = 1.0 if of.cpu_s is None or of.service_s == 0 else of.cpu_s / of.service_s
            cores[name] = float(used[at]) * counts[name] * computed
        return cores

    def levelled(self, begun: Counts) -> tuple[dict[str, int], float]:
        """The cheapest parallelism that holds in which the hardest working operators have as many instances as each
        other, else the best one: where containers share their cores among them, it takes all of them to fill another.
        """
        used = replace(self._question, site=NOWHERE, packed=None).used([begun])[0]
        work = {name: used[at] * begun[name] for at, name in enumerate(self._question.topology.order)}
        hardest = sorted(
            (name for name in begun if work[name] > IDLE * max(work.values())), key=lambda name: -work[name]
        )
        tries = dict[tuple[int, ...], dict[str, int]]()
        level = max(begun.values())
        for _ in range(MAX_LEVELS):
            for number in range(1, len(hardest) + 1):
                raised = {name: max(begun[name], min(self._most[name], level)) for name in hardest[:number]}
                counts = {**begun, **raised}
                if self._allowed(counts):
                    tries.setdefault(tuple(counts.values()), counts)
            level += max(1, ceil(level / 16))
        best, least = dict(begun), inf
        several = sorted(tries.values(), key=self._question.price_of)
        for first in range(0, len(several), TOGETHER):
            some = several[first : first + TOGETHER]
            excess = self.excess(some)
            held = np.flatnonzero(excess <= ROUNDING)
            at = int(held[0]) if held.size else int(excess.argmin())
            if excess[at] < least:
                best, least = some[at], float(excess[at])
            if held.size:
                break
        return best, least

    def lowered(self, counts: dict[str, int]) -> dict[str, int]:
        """Without the instances that are not needed, the dearest operators first."""
        units = sorted(self._units, key=lambda names: -self._question.price_of(dict.fromkeys(names, 1)))
        while True:
            fewer = [each for names in units if (each := self._less(counts, names)) != counts]
            holds = np.flatnonzero(self.excess(fewer) <= ROUNDING) if fewer else np.zeros(0, dtype=int)
            if not holds.size:
                return counts
            counts = fewer[int(holds[0])]

    def _relieved(self, counts: dict[str, int]) -> dict[str, int]:
        """With as many instances of each operator that is too busy as it would need if every instance were as slow as
        its slowest now.
        """
        question, wider = self._question, dict(counts)
        used = question.used([counts])[0]
        if not (used > question.max_utilisation * ROUNDING).any():
            return wider
        bare = replace(question, site=NOWHERE, packed=None)
        unplaced = bare.used([counts])[0]
        for at, name in enumerate(question.topology.order):
            if used[at] <= question.max_utilisation * ROUNDING:
                continue
            slower = max(1.0, float(used[at] / unplaced[at])) if unplaced[at] > 0 else 1.0
            harder = replace(bare, max_utilisation=question.max_utilisation / slower)
            wider[name] = least_count(harder, wider, name, counts[name] + 1) or counts[name]
        return in_whole_slots(question, wider, self._together)

    def _more(self, counts: Mapping[str, int], names: Sequence[str], step: int) -> dict[str, int]:
        added = {name: step * max(1, ceil(counts[name] / 16)) for name in names}
        more = {name: min(self._most[name], count + added.get(name, 0)) for name, count in counts.items()}
        return in_whole_slots(self._question, more, self._together)

    def _less(self, counts: Counts, names: Sequence[str]) -> dict[str, int]:
        """With an instance less of the largest of these, and no more of the others."""
        highest = max(counts[name] for name in names) - 1
        least = {name: max(self._least.get(name, 1), self._question.counts(name)[0]) for name in names}
        return {**counts, **{name: min(counts[name], max(least[name], highest)) for name in names}}

    def _allowed(self, counts: Counts) -> bool:
        return sum(counts.values()) <= self._max_instances


def _fewest_slots(
    at: Callable[[int], tuple[dict[str, int], float]], too_few: int, enough: int, known: tuple[dict[str, int], float]
) -> tuple[dict[str, int], float]:
    """What `at` says of the fewest slots that hold, by bisection. known: what it says of those that are enough."""
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        tried = at(middle)
        if tried[1] <= ROUNDING:
            enough, known = middle, tried
        else:
            too_few = middle
    return known
