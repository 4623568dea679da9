"""Groups samples by span of time, counts the instances of a span, and compares the slowest span with the fastest.

A profile has one number for all rates. Windows and timers make what a tuple costs or makes fall with the rate; joins
over time, and state that grows with the rate, make it rise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.calibration.operator_sample import OperatorSample

FASTER, CHANGES = 1.25, 0.1
"""Least ratio of the rates of two spans that are compared, and least relative change of the amount that is told."""

SIGMAS = 4.0
"""Standard errors of the counts by which the amounts have to differ."""


def spans(samples: Sequence[OperatorSample]) -> list[list[int]]:
    """Indices of the samples of each span, in order of time and instance; one span if any sample has no start.

    Instances are not read at the same moment: samples that begin within half the shortest span belong together, unless
    the instance already has a sample in that span. They may be of several operators.
    """
    if any(sample.began_s is None for sample in samples):
        return [list(range(len(samples)))]
    near_s = min((sample.span_s for sample in samples), default=0.0) / 2
    found: list[list[int]] = []
    began: dict[tuple[str, int], float] = {}
    first_s = -float("inf")
    for at in sorted(range(len(samples)), key=lambda at: (samples[at].began_s or 0.0, samples[at].index)):
        instance, began_s = (samples[at].operator, samples[at].index), samples[at].began_s or 0.0
        if began_s - first_s > near_s or began.get(instance, began_s) != began_s:
            found.append([])
            began, first_s = {}, began_s
        found[-1].append(at)
        began[instance] = began_s
    return found


def span_numbers(samples: Sequence[OperatorSample]) -> Ints:
    """The number of each sample's span, in order of time."""
    numbers = np.zeros(len(samples), dtype=np.int64)
    for number, at in enumerate(spans(samples)):
        numbers[at] = number
    return numbers


def instances_there(samples: Sequence[OperatorSample], seen: int) -> int:
    """Number of instances in a span: as its samples report, else as many as were ever seen."""
    reported = max((sample.parallelism or 0 for sample in samples), default=0)
    return max(reported or seen, len({sample.index for sample in samples}))


@dataclass(frozen=True)
class RateEffect:
    """slow, fast: amount per tuple at slow_per_s and fast_per_s tuples a second. significant: whether they differ."""

    slow_per_s: float
    slow: float
    fast_per_s: float
    fast: float
    significant: bool

    @property
    def rises(self) -> bool:
        return self.fast > self.slow


def rate_effect(
    samples: Sequence[OperatorSample],
    tuples: Floats,
    amounts: Floats,
    expected: Floats,
    counts: Floats,
    least: float = CHANGES,
) -> RateEffect | None:
    """How the amount per tuple of one operator differs between its slowest and its fastest span; None if these are
    about as fast.

    One number per sample: expected, what it would amount to if only the mix of its inputs mattered; counts, of the
    events that make the amount vary by chance, as Poisson. least: relative change from which it is told.
    """
    seen = []
    for span in spans(samples):
        worked, made, usual, count = (float(each[span].sum()) for each in (tuples, amounts, expected, counts))
        if worked > 0 and made > 0 and usual > 0 and count > 0:
            seen.append((worked / max(samples[at].span_s for at in span), made / usual, count))
    if len(seen) < 2:
        return None
    (slow_per_s, slow, few), (fast_per_s, fast, many) = (at(seen, key=itemgetter(0)) for at in (min, max))
    if fast_per_s < FASTER * slow_per_s:
        return None
    chance, each = SIGMAS * float(np.sqrt(1 / few + 1 / many)), float(expected.sum() / tuples.sum())
    significant = abs(fast - slow) >= max(least, chance) * slow
    return RateEffect(slow_per_s, slow * each, fast_per_s, fast * each, significant)
