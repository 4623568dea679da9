"""The load offered to a source while samples were taken: its throughput, unless it was held back.

Throughput measured under backpressure is censored: a lower bound of the demand.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import held_back
from modeling.calibration.spans import instances_there, spans


@dataclass(frozen=True)
class OfferedLoad:
    """rate_per_s: tuples per second taken in by a source. censored: whether the rate is only a lower bound of the
    offered load. spans: number without backpressure, and in total.
    """

    rate_per_s: float
    censored: bool
    spans: tuple[int, int]


def offered_load(samples: Sequence[OperatorSample], tuples: Sequence[float], instances: int) -> OfferedLoad:
    """Tuples per second of all instances of a source, from the spans in which none of them was held back.

    Without such a span, the largest throughput, as a lower bound. samples: at least one, in any order. tuples: arrivals
    of each sample. instances: number seen, including those without usable samples. Spans with missing instances count
    only if there is no complete one; missing instances get the mean of the others. Samples without a start are taken as
    one span, with each instance's mean.
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
    """The note on a source without a usable span of all its instances; empty if it has one."""
    every = [[samples[at] for at in span] for span in spans(samples)]
    there = [span for span in every if not any(held_back(sample) for sample in span)] or every
    coverage = [(len({sample.index for sample in span}), instances_there(span, instances)) for span in there]
    if not coverage or any(of == all_of for of, all_of in coverage):
        return ""
    of, all_of = max(coverage, key=lambda pair: pair[0] / pair[1])
    return f"no span covers all instances, at best {of} of {all_of}: the others are assumed to have as much"


def _rate_per_s(span: Sequence[OperatorSample], tuples: Sequence[float]) -> float:
    """Total rate of all instances; several samples of an instance count by their mean."""
    taken: dict[int, float] = defaultdict(float)
    seconds: dict[int, float] = defaultdict(float)
    for sample, count in zip(span, tuples, strict=True):
        taken[sample.index] += count
        seconds[sample.index] += sample.span_s
    return sum(taken[index] / seconds[index] for index in taken)
