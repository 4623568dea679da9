"""The cheapest parallelisms with which latencies keep to their bounds too: more instances where they help most."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from modeling.arrays import Flags
from modeling.least_parallelism import MAX_TRIED, ROUNDING, Counts, LatencyBounds, Question

_AT_ONCE = 256


def fewest_within_latency(
    question: Question, begun: Counts, bounds: LatencyBounds, least: Counts | None = None
) -> dict[str, int] | None:
    """From parallelisms that keep to the utilisation, more instances until all latencies are within their bounds too;
    None where no parallelism was found that does.

    Instances are added where they help most, many at once where few do not help; then what is not needed is taken back,
    of the dearest operators first, and all parallelisms with a lower price, from `least` on, are tried if they are no
    more than MAX_TRIED.
    """

    def held(several: Sequence[Counts]) -> Flags:
        return question.holds(several, bounds)

    wide = _widened(question, dict(begun), bounds)
    if wide is None:
        return None
    wide = _narrowed(question, wide, least or begun, held)
    cheaper = _cheaper(question, least or begun, question.price_of(wide))
    while some := list(islice(cheaper, _AT_ONCE)):
        if (fits := np.flatnonzero(held(some))).size:
            return dict(some[int(fits[0])])
    return wide


def _widened(question: Question, parallelism: dict[str, int], bounds: LatencyBounds) -> dict[str, int] | None:
    most = {name: question.counts(name)[-1] for name in parallelism}
    now = float(question.strain([parallelism], bounds)[0])
    step = 1
    while now > ROUNDING:
        more = {name: min(most[name], count + step * max(1, count // 16)) for name, count in parallelism.items()}
        wider = [{**parallelism, name: count} for name, count in more.items() if parallelism[name] < most[name]]
        if not wider:
            return None
        wider.append(more)
        strains = question.strain(wider, bounds)
        best = int(strains[:-1].argmin())
        best = best if strains[best] < now * (1 - 1e-9) else len(wider) - 1
        if strains[best] < now * (1 - 1e-9):
            now, parallelism, step = float(strains[best]), wider[best], 1
        elif wider[-1] == most:
            return most if question.holds([most], bounds)[0] else None
        else:
            step *= 2
    return parallelism


def _narrowed(
    question: Question, wide: dict[str, int], least: Counts, held: Callable[[Sequence[Counts]], Flags]
) -> dict[str, int]:
    """As few instances of each operator in turn as still hold, until none can be taken away."""
    names = sorted(wide, key=lambda name: -question.price_of({name: 1}))
    while True:
        before = dict(wide)
        for name in names:
            fewer = range(least[name], wide[name])
            if fewer and (fits := np.flatnonzero(held([{**wide, name: count} for count in fewer]))).size:
                wide[name] = fewer[int(fits[0])]
        if wide == before:
            return wide


def _cheaper(question: Question, least: Counts, price: float) -> Iterator[dict[str, int]]:
    """All parallelisms from `least` on with a lower price, the lowest first; none where they are too many."""
    names = list(least)
    room = [question.counts(name)[-1] - least[name] for name in names]
    of_one = [question.price_of({name: 1}) for name in names]
    added = list(islice(_additions((price - question.price_of(least)) / ROUNDING, room, of_one), MAX_TRIED + 1))
    if len(added) > MAX_TRIED:
        return
    for each in sorted(added, key=lambda each: (sum(np.multiply(each, of_one)), each)):
        yield {name: least[name] + more for name, more in zip(names, each, strict=True)}


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
