"""The least parallelism that carries a load as packed on a site: nodes differ, containers are small, links fill.

A packing may put any instance anywhere, so operators no longer stand alone: the search adds instances where they help
most, then removes what is not needed. Use least_parallelism where packings do not matter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, inf
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

CanPack = Callable[[Counts], bool]
NONE_KEPT: Counts = MappingProxyType({})


def fewest_on_site(
    question: Question,
    begun: Counts,
    bounds: LatencyBounds,
    can_pack: CanPack,
    max_instances: int,
    least: Counts = NONE_KEPT,
) -> tuple[dict[str, int], float]:
    """A parallelism that keeps all bounds as packed, and its largest ratio to a bound: at most ROUNDING if it holds;
    else that of the best one that was tried, infinite if none could be packed.

    begun: where the search begins, a parallelism that keeps the utilisation where packings do not matter. can_pack:
    whether question.packed has a packing. least: instances that an operator keeps, at least 1. No single instance more
    can be left out, but a cheaper parallelism may exist.
    """
    search = _Search(question, bounds, can_pack, max_instances, least)
    counts, excess = search.grown(dict(begun))
    if not excess <= ROUNDING:
        counts, excess = min((counts, excess), search.levelled(begun), key=lambda tried: tried[1])
    return (search.lowered(counts), excess) if excess <= ROUNDING else (counts, excess)


class _Search:
    def __init__(
        self, question: Question, bounds: LatencyBounds, can_pack: CanPack, max_instances: int, least: Counts
    ) -> None:
        self._question, self._bounds, self._can_pack = question, bounds, can_pack
        self._max_instances, self._least = max_instances, least
        self._most = {name: question.counts(name)[-1] for name in question.topology.order}
        self._known = dict[tuple[int, ...], float]()

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
                tries = [self._more(counts, [name], step) for name in counts]
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
        names = sorted(counts, key=lambda name: -self._question.price_of({name: 1}))
        while True:
            fewer = [
                {**counts, name: counts[name] - 1}
                for name in names
                if counts[name] - 1 in self._question.counts(name) and counts[name] > self._least.get(name, 1)
            ]
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
        return wider

    def _more(self, counts: Mapping[str, int], names: Sequence[str], step: int) -> dict[str, int]:
        added = {name: step * max(1, ceil(counts[name] / 16)) for name in names}
        return {name: min(self._most[name], count + added.get(name, 0)) for name, count in counts.items()}

    def _allowed(self, counts: Counts) -> bool:
        return sum(counts.values()) <= self._max_instances
