"""What was offered to each source while samples were taken; a lower bound where it was held back throughout."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from modeling.calibration.sifting import held_back
from modeling.offered_load import OfferedLoad
from modeling.operator_sample import OperatorSample


def offered_loads(
    used: Mapping[str, Sequence[OperatorSample]], tuples: Mapping[str, Sequence[float]]
) -> dict[str, OfferedLoad]:
    """Per source, tuples a second of all its instances, from the spans in which none of them was held back.

    used, tuples: per source its samples, and the arrivals that each took in. A span is what began at the same time;
    samples that do not tell when they began are taken for those of one span, each instance by its mean.
    """
    return {source: _offered(samples, tuples[source]) for source, samples in used.items() if samples}


def _offered(samples: Sequence[OperatorSample], tuples: Sequence[float]) -> OfferedLoad:
    spans: dict[float | None, list[int]] = defaultdict(list)
    untimed = any(sample.began_s is None for sample in samples)
    for at, sample in enumerate(samples):
        spans[None if untimed else sample.began_s].append(at)
    rates = {
        began_s: _rate_per_s([samples[at] for at in span], [tuples[at] for at in span])
        for began_s, span in spans.items()
    }
    free = [rates[began_s] for began_s, span in spans.items() if not any(held_back(samples[at]) for at in span)]
    counted = (len(free), len(spans))
    return (
        OfferedLoad(sum(free) / len(free), False, counted) if free else OfferedLoad(max(rates.values()), True, counted)
    )


def _rate_per_s(span: Sequence[OperatorSample], tuples: Sequence[float]) -> float:
    """All instances together; an instance of which there are several samples by their mean."""
    taken: dict[int, float] = defaultdict(float)
    seconds: dict[int, float] = defaultdict(float)
    for sample, count in zip(span, tuples, strict=True):
        taken[sample.index] += count
        seconds[sample.index] += sample.span_s
    return sum(taken[index] / seconds[index] for index in taken)
