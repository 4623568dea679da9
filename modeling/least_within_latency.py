"""The cheapest parallelisms with which latencies keep to their bounds too: more instances where they help most.

A search asks for the strain of some parallelisms, decides, and asks for others. So searches for several loads go side
by side, and each round of all of them is worked out at once: most of the time goes into what does not grow with it.
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from modeling.arrays import Floats
from modeling.least_parallelism import MAX_TRIED, ROUNDING, Counts, LatencyBounds, Question

_AT_ONCE = 256
_CELLS = 2**13
"""Parallelisms times loads that are worked out at once: each parallelism is under all of the loads."""

_Search = Generator[Sequence[Counts], Floats, dict[str, int] | None]
"""Yields parallelisms, is sent their strains, and returns what it has found."""


@dataclass(frozen=True)
class Begun:
    """A search that is to be made. counts: that keep to the utilisation; least: from which on all are tried."""

    question: Question
    counts: Counts
    least: Counts | None = None


def fewest_within_latency(
    question: Question, begun: Counts, bounds: LatencyBounds, least: Counts | None = None
) -> dict[str, int] | None:
    """From parallelisms that keep to the utilisation, more instances until all latencies are within their bounds too;
    None where no parallelism was found that does.

    Instances are added where they help most, many at once where few do not help; then what is not needed is taken back,
    of the dearest operators first, and all parallelisms with a lower price, from `least` on, are tried if they are no
    more than MAX_TRIED.
    """
    return each_within_latency([Begun(question, begun, least)], bounds)[0]


def each_within_latency(several: Sequence[Begun], bounds: LatencyBounds) -> list[dict[str, int] | None]:
    """fewest_within_latency of several questions, which differ in their load alone."""
    found: list[dict[str, int] | None] = [None] * len(several)
    searches = {at: _search(each.question, each.counts, each.least) for at, each in enumerate(several)}
    asked = {at: next(search) for at, search in searches.items()}
    while asked:
        strains = _strains(several, asked, bounds)
        for at in list(asked):
            try:
                asked[at] = searches[at].send(strains[at])
            except StopIteration as done:
                found[at] = done.value
                del asked[at]
    return found


def _strains(
    several: Sequence[Begun], asked: Mapping[int, Sequence[Counts]], bounds: LatencyBounds
) -> dict[int, Floats]:
    found: dict[int, Floats] = {}
    left = sorted(asked, key=lambda at: len(asked[at]), reverse=True)
    while left:
        chosen = [left.pop()]
        while left and sum(len(asked[at]) for at in (*chosen, left[-1])) * (len(chosen) + 1) <= _CELLS:
            chosen.append(left.pop())
        question = several[chosen[0]].question
        loads_per_s = np.concatenate([several[at].question.loads_per_s for at in chosen])
        found |= zip(chosen, question.strain_each([asked[at] for at in chosen], loads_per_s, bounds), strict=True)
    return found


def _search(question: Question, begun: Counts, least: Counts | None) -> _Search:
    wide = yield from _widened(question, dict(begun))
    if wide is None:
        return None
    wide = yield from _narrowed(question, wide, least or begun)
    cheaper = _cheaper(question, least or begun, question.price_of(wide))
    while some := list(islice(cheaper, _AT_ONCE)):
        if (fits := np.flatnonzero((yield some) <= ROUNDING)).size:
            return dict(some[int(fits[0])])
    return wide


def _widened(question: Question, parallelism: dict[str, int]) -> _Search:
    most = {name: question.counts(name)[-1] for name in parallelism}
    now = float((yield [parallelism])[0])
    step = 1
    while now > ROUNDING:
        more = {name: min(most[name], count + step * max(1, count // 16)) for name, count in parallelism.items()}
        wider = [{**parallelism, name: count} for name, count in more.items() if parallelism[name] < most[name]]
        if not wider:
            return None
        wider.append(more)
        strains = yield wider
        best = int(strains[:-1].argmin())
        best = best if strains[best] < now * (1 - 1e-9) else len(wider) - 1
        if strains[best] < now * (1 - 1e-9):
            now, parallelism, step = float(strains[best]), wider[best], 1
        elif wider[-1] == most:
            return most if (yield [most])[0] <= ROUNDING else None
        else:
            step *= 2
    return parallelism


def _narrowed(
    question: Question, wide: dict[str, int], least: Counts
) -> Generator[Sequence[Counts], Floats, dict[str, int]]:
    """As few instances of each operator in turn as still hold, until none can be taken away."""
    names = sorted(wide, key=lambda name: -question.price_of({name: 1}))
    begin, unchanged = 0, 0
    while unchanged < len(names):
        # What holds of the next operators is known at once, up to the first that changes.
        turn = [names[(begin + after) % len(names)] for after in range(len(names) - unchanged)]
        tried = [(name, count) for name in turn for count in range(least[name], wide[name])]
        held = (
            (yield [{**wide, name: count} for name, count in tried]) <= ROUNDING if tried else np.zeros(0, dtype=bool)
        )
        if not held.any():
            return wide
        name, count = tried[int(held.argmax())]
        wide[name] = count
        begin, unchanged = (names.index(name) + 1) % len(names), 1
    return wide


def _cheaper(question: Question, least: Counts, price: float) -> Iterator[dict[str, int]]:
    """All parallelisms from `least` on with a lower price, the lowest first; none where they are too many."""
    names = list(least)
    room = [question.counts(name)[-1] - least[name] for name in names]
    of_one = [question.price_of({name: 1}) for name in names]
    below = (price - question.price_of(least)) / ROUNDING
    if ways_to_add(below / max(of_one), room) > MAX_TRIED:
        return
    added = list(islice(_additions(below, room, of_one), MAX_TRIED + 1))
    if len(added) > MAX_TRIED:
        return
    for each in sorted(added, key=lambda each: (sum(np.multiply(each, of_one)), each)):
        yield {name: least[name] + more for name, more in zip(names, each, strict=True)}


def ways_to_add(below: float, room: Sequence[int]) -> int:
    """In how many ways fewer instances than `below` can be added in all, each operator within its room: as many as cost
    less than that where each costs 1, and at least as many where none costs more. Where that is beyond MAX_TRIED, some
    number beyond it.

    >>> ways_to_add(3.0, [1, 2, 5])  # one adds none, three add one instance, five add two
    9
    """
    most = max(0, min(math.ceil(below) - 1, MAX_TRIED))
    ways = np.zeros(most + 1)
    ways[0] = 1.0 if below > 0 else 0.0
    for left in room:
        sums = np.cumsum(ways)
        ways = sums
        ways[left + 1 :] -= sums[: max(0, most - left)].copy()
    return int(min(ways.sum(), 2.0 * MAX_TRIED))


def _additions(below: float, room: Sequence[int], of_one: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """So many instances more of each operator as cost less than `below` together."""
    if not room:
        yield ()
        return
    for first in range(room[0] + 1):
        if first * of_one[0] >= below:
            return
        for rest in _additions(below - first * of_one[0], room[1:], of_one[1:]):
            yield (first, *rest)
