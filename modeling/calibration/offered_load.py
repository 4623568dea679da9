"""What was offered to a source while samples of it were taken: what it took in, unless it was held back.

Throughput that was measured under backpressure is a lower bound of the demand, not the demand: it is censored.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import held_back
from modeling.calibration.spans import instances_there, spans


@dataclass(frozen=True)
class OfferedLoad:
    """rate_per_s: tuples a second that a source took in. censored: at least as much was offered, nobody knows how much
    more; spans: how many were free of backpressure, of all.
    """

    rate_per_s: float
    censored: bool
    spans: tuple[int, int]


def offered_load(samples: Sequence[OperatorSample], tuples: Sequence[float], instances: int) -> OfferedLoad:
    """Tuples a second of all instances of a source, from the spans in which none of them was held back.

    Where there is none, the largest throughput, as a lower bound. samples: at least one; their order makes no
    difference. tuples: the arrivals that each took in. instances: how many were seen, of which no sample may be used. A
    span in which some are missing counts only where there is no other, the missing as the mean of the others. Samples
    that do not tell when they began are taken for those of one span, each instance by its mean.
    """
    found = spans(samples)
    rates: list[float] = []
    free: list[float] = []
    sure: list[float] = []
    for span in found:
        there = [samples[at] for at in span]
        of, all_of = len({sample.index for sample in there}), instances_there(there, instances)
        rates.append(_rate_per_s(there, [tuples[at] for at in span]) * all_of / of)
        if not any(held_back(sample) for sample in there):
            free.append(rates[-1])
            if of == all_of:
                sure.append(rates[-1])
    counted = (len(free), len(found))
    taken = sure or free
    return OfferedLoad(sum(taken) / len(taken), False, counted) if taken else OfferedLoad(max(rates), True, counted)


def lacking_note(samples: Sequence[OperatorSample], instances: int) -> str:
    """What is said of a source that has no span to go by with all of its instances; empty where it has one."""
    every = [[samples[at] for at in span] for span in spans(samples)]
    there = [span for span in every if not any(held_back(sample) for sample in span)] or every
    told = [(len({sample.index for sample in span}), instances_there(span, instances)) for span in there]
    if not told or any(of == all_of for of, all_of in told):
        return ""
    of, all_of = max(told, key=lambda pair: pair[0] / pair[1])
    return (
        f"what was offered is told by no span of all instances, at best by {of} of {all_of}: the others are taken to "
        "have as much"
    )


def _rate_per_s(span: Sequence[OperatorSample], tuples: Sequence[float]) -> float:
    """All instances together; an instance of which there are several samples by their mean."""
    taken: dict[int, float] = defaultdict(float)
    seconds: dict[int, float] = defaultdict(float)
    for sample, count in zip(span, tuples, strict=True):
        taken[sample.index] += count
        seconds[sample.index] += sample.span_s
    return sum(taken[index] / seconds[index] for index in taken)
