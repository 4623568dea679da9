"""What was offered to each source while samples were taken; a lower bound where it was held back throughout."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from modeling.calibration.offered_load import OfferedLoad
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import held_back
from modeling.calibration.spans import instances_there, spans


def offered_loads(
    used: Mapping[str, Sequence[OperatorSample]],
    tuples: Mapping[str, Sequence[float]],
    instances: Mapping[str, int],
) -> dict[str, OfferedLoad]:
    """Per source, tuples a second of all its instances, from the spans in which none of them was held back.

    used, tuples: per source its samples, and the arrivals that each took in. instances: how many were seen, of which no
    sample may be used. A span in which some are missing counts only where there is no other, the missing as the mean of
    the others. Samples that do not tell when they began are taken for those of one span, each instance by its mean.
    """
    return {source: _offered(samples, tuples[source], instances[source]) for source, samples in used.items() if samples}


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


def _offered(samples: Sequence[OperatorSample], tuples: Sequence[float], instances: int) -> OfferedLoad:
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


def _rate_per_s(span: Sequence[OperatorSample], tuples: Sequence[float]) -> float:
    """All instances together; an instance of which there are several samples by their mean."""
    taken: dict[int, float] = defaultdict(float)
    seconds: dict[int, float] = defaultdict(float)
    for sample, count in zip(span, tuples, strict=True):
        taken[sample.index] += count
        seconds[sample.index] += sample.span_s
    return sum(taken[index] / seconds[index] for index in taken)
