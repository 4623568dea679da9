"""What comes to a source, as its counters tell: what it took in, unless it was held back.

Throughput that was measured under backpressure is a lower bound of the demand, not the demand: it is censored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError

HELD_BACK = 0.05
"""Share of a span spent backpressured beyond which what came is not what was taken."""


@dataclass(frozen=True)
class OfferedLoad:
    """rate_per_s: tuples a second that a source took in. censored: at least as much was offered, nobody knows how much
    more; spans: how many were free of backpressure, of all.
    """

    rate_per_s: float
    censored: bool
    spans: tuple[int, int]


def offered_load(samples: Sequence[OperatorSample]) -> OfferedLoad:
    """The load of one source from samples of its instances: of those spans in which no instance was held back.

    Where there is none, the largest throughput, as a lower bound. Samples of one span have the same span_s and come
    once per instance, in order of time. Raises ModelError without samples.
    """
    if not samples:
        raise ModelError("no sample of the source; measure it over some seconds")
    instances = len({sample.index for sample in samples})
    if len(samples) % instances:
        raise ModelError(f"{len(samples)} samples of {instances} instances; give one per instance and span")
    spans = [samples[at : at + instances] for at in range(0, len(samples), instances)]
    rates = [sum(sample.records_in / sample.span_s for sample in span) for span in spans]
    free = [
        rate
        for rate, span in zip(rates, spans, strict=True)
        if all(sample.backpressured_s <= HELD_BACK * sample.span_s for sample in span)
    ]
    counted = (len(free), len(spans))
    return OfferedLoad(sum(free) / len(free), False, counted) if free else OfferedLoad(max(rates), True, counted)
