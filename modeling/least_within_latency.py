"""The cheapest parallelisms that also meet latency bounds, by adding instances where they help most.

A search requests the strain of some parallelisms, decides, and requests others. Searches for several loads run side by
side, and each round of all of them is computed at once, since most of the cost is fixed per round.
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from modeling.arrays import Floats
from modeling.least_parallelism import MAX_TRIED, ROUNDING, Counts, LatencyBounds, Question

_AT_ONCE = 256
_AHEAD = 8
"""Steps of each operator whose strains are requested at once."""
_SURE = 0.75
"""Share of the predicted steps that are taken."""
_CELLS = 2**13
"""Parallelisms × loads computed at once: each parallelism is evaluated under all loads."""

_Search = Generator[Sequence[Counts], Floats, dict[str, int] | None]
"""Yields parallelisms, receives their strains, and returns the result."""


@dataclass(frozen=True)
class Begun:
    """A search to run. counts: starting point that keeps to the utilisation. least: lower bounds of the exhaustive
    search.
    """

    question: Question
    counts: Counts
    least: Counts | None = None


def fewest_within_latency(
    question: Question, begun: Counts, bounds: LatencyBounds, least: Counts | None = None
) -> dict[str, int] | None:
    """Starting from parallelisms that keep to the utilisation, add instances until all latencies meet their bounds;
    None if no such parallelism was found.

    Instances are added where they help most, many at once if few do not help. Then unneeded ones are removed, from the
    most expensive operators first, and all cheaper parallelisms from `least` on are tried if they are at most
    MAX_TRIED.
    """
    return each_within_latency([Begun(question, begun, least)], bounds)[0]


def each_within_latency(several: Sequence[Begun], bounds: LatencyBounds) -> list[dict[str, int] | None]:
    """fewest_within_latency of several questions that differ only in their load."""
    found: list[dict[str, int] | None] = [None] * len(several)
    searches = {at: _search(each.question, each.counts, each.least) for at, each in enumerate(several)}
    requests = {at: next(search) for at, search in searches.items()}
    while requests:
        strains = _strains(several, requests, bounds)
        for at in list(requests):
            try:
                requests[at] = searches[at].send(strains[at])
            except StopIteration as done:
                found[at] = done.value
                del requests[at]
    return found


def _strains(
    several: Sequence[Begun], requests: Mapping[int, Sequence[Counts]], bounds: LatencyBounds
) -> dict[int, Floats]:
    found: dict[int, Floats] = {}
    left = sorted(requests, key=lambda at: len(requests[at]), reverse=True)
    while left:
        chosen = [left.pop()]
        while left and sum(len(requests[at]) for at in (*chosen, left[-1])) * (len(chosen) + 1) <= _CELLS:
            chosen.append(left.pop())
        question = several[chosen[0]].question
        loads_per_s = np.concatenate([several[at].question.loads_per_s for at in chosen])
        found |= zip(chosen, question.strain_each([requests[at] for at in chosen], loads_per_s, bounds), strict=True)
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
    """Repeatedly adds instances of the operator where they help most. Several predicted steps are taken at once; if
    together they help less than the first alone, only that one is taken.
    """
    most = {name: question.counts(name)[-1] for name in parallelism}
    step, ahead = 1, _AHEAD
    first, helped = parallelism, math.inf
    while True:
        each = {name: step * max(1, count // 16) for name, count in parallelism.items()}
        more = {name: min(most[name], count + each[name]) for name, count in parallelism.items()}
        further = {
            name: sorted({min(most[name], count + steps * each[name]) for steps in range(1, ahead + 1)} - {count})
            for name, count in parallelism.items()
        }
        wider = [{**parallelism, name: count} for name, counts in further.items() for count in counts]
        strains = yield [parallelism, *wider, more]
        now = float(strains[0])
        if now <= ROUNDING:
            return parallelism
        if now > helped:
            parallelism, helped, ahead = first, math.inf, 1
            continue
        if not wider:
            return None
        ends = np.cumsum([len(counts) for counts in further.values()])
        after = dict(zip(further, np.split(strains[1:-1], ends[:-1]), strict=True))
        best = min((name for name in further if further[name]), key=lambda name: after[name][0])
        first, helped = {**parallelism, best: further[best][0]}, float(after[best][0])
        if helped < now * (1 - 1e-9):
            steps = _predicted_steps(now, after)
            parallelism = {n: further[n][steps[n] - 1] if steps[n] else count for n, count in parallelism.items()}
            step, ahead = 1, min(_AHEAD, 2 * ahead)
            continue
        helped = math.inf
        if strains[-1] < now * (1 - 1e-9):
            parallelism, step = more, 1
        elif more == most:
            return most if (yield [most])[0] <= ROUNDING else None
        else:
            step *= 2


def _predicted_steps(now: float, after: Mapping[str, Floats]) -> dict[str, int]:
    """Predicted number of steps per operator, always taking the most helpful one and assuming that gains add up.

    after: strain after one step, two and so on of each operator alone.
    """
    with np.errstate(invalid="ignore"):  # an operator still too busy after a step gains nothing
        gains = {name: np.nan_to_num(-np.diff(of, prepend=now), nan=-1.0) for name, of in after.items() if of.size}
    steps, made = dict.fromkeys(after, 0), list[str]()
    while now > ROUNDING and all(steps[name] < of.size for name, of in gains.items()):
        best = max(gains, key=lambda name: gains[name][steps[name]])
        gain = float(gains[best][steps[best]])
        if made and not gain > 0:
            break
        made.append(best)
        steps[best] += 1
        now -= gain
    # The last steps depend on the others and are predicted anew.
    for name in made[max(1, math.ceil(len(made) * _SURE)) :]:
        steps[name] -= 1
    return steps


def _narrowed(
    question: Question, wide: dict[str, int], least: Counts
) -> Generator[Sequence[Counts], Floats, dict[str, int]]:
    """Reduce each operator in turn as far as bounds still hold, until none can be reduced."""
    names = sorted(wide, key=lambda name: -question.price_of({name: 1}))
    begin, unchanged = 0, 0
    while unchanged < len(names):
        # Results for the next operators are computed at once and valid up to the first change.
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
    """All parallelisms from `least` on with a lower price, cheapest first; none if there are too many."""
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
    """Number of ways to add fewer than `below` instances in total, each operator within its room. With unit prices this
    is the number of cheaper choices; with prices of at most 1, a lower bound. Above MAX_TRIED the number is not exact.

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
    """Additional instances of each operator that together cost less than `below`."""
    if not room:
        yield ()
        return
    for first in range(room[0] + 1):
        if first * of_one[0] >= below:
            return
        for rest in _additions(below - first * of_one[0], room[1:], of_one[1:]):
            yield (first, *rest)
