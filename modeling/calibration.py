"""Calibration: operator profiles from counters measured on instances."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.operator_profile import OperatorProfile, Profiles
from modeling.operator_sample import OperatorSample
from modeling.topology import Topology

Floats = npt.NDArray[np.float64]

FEWEST_TUPLES = 100
"""Fewer tuples say too little of a mean, whose error is then above 10 % for exponential service times."""


def calibrated_profiles(
    topology: Topology, samples: Sequence[OperatorSample], declared: Profiles
) -> dict[str, OperatorProfile]:
    """Profiles with measured service times and selectivities where the samples carry enough tuples.

    Service time is busy seconds over tuples, pooled over instances and spans. Time spent backpressured is not busy, so
    samples under backpressure keep their service time true; their throughput is never taken for demand. Sources count
    what they give out, since engines report no input for them: arrivals are that over the declared
    selectivity, which for a source is never measured. What
    is not measured (spread of service times, keys, an operator that saw fewer than FEWEST_TUPLES) is kept from
    `declared`.
    Raises ModelError for a sample of an unknown operator or stream.
    """
    known = {operator.name for operator in topology.operators}
    streams = {stream.name for stream in topology.streams}
    for sample in samples:
        if sample.operator not in known:
            raise ModelError(
                f"sample of the unknown operator {sample.operator!r}; known are {', '.join(sorted(known))}"
            )
        if unknown := set(sample.records_out) - streams:
            raise ModelError(
                f"sample of operator {sample.operator!r} names the unknown stream {min(unknown)}; "
                f"known are {', '.join(sorted(streams))}"
            )
    return {
        name: _measured(topology, [sample for sample in samples if sample.operator == name], declared[name])
        for name in topology.order
    }


def _measured(topology: Topology, samples: list[OperatorSample], declared: OperatorProfile) -> OperatorProfile:
    if not samples:
        return declared
    tuples = np.array([_tuples(topology, sample, declared) for sample in samples])
    if tuples.sum() < FEWEST_TUPLES:
        return declared
    busy_s = np.array([sample.busy_s for sample in samples])
    service_s, error_s = ratio_with_error(busy_s, tuples)
    return replace(
        declared,
        service_s=service_s,
        service_s_error=error_s,
        selectivity={**declared.selectivity, **_selectivities(topology, samples, tuples)}
        if samples[0].operator not in topology.sources
        else declared.selectivity,
        samples=len(samples),
    )


def _tuples(topology: Topology, sample: OperatorSample, declared: OperatorProfile) -> float:
    """What the operator worked on. A source works on each arrival once, however many tuples and streams it makes of
    it.
    """
    if sample.operator not in topology.sources:
        return sample.records_in
    per_arrival = sum(declared.selectivity.get(stream, 1.0) for stream in sample.records_out)
    return sum(sample.records_out.values()) / per_arrival if per_arrival > 0 else sample.records_in


def _selectivities(topology: Topology, samples: list[OperatorSample], tuples: Floats) -> Mapping[str, float]:
    outputs = topology.outputs(samples[0].operator)
    return {
        stream.name: ratio_with_error(
            np.array([sample.records_out.get(stream.name, 0.0) for sample in samples]), tuples
        )[0]
        for stream in outputs
        if any(stream.name in sample.records_out for sample in samples)
    }


def ratio_with_error(numerators: Floats, denominators: Floats) -> tuple[float, float]:
    """Ratio of sums and its standard error by linearisation (Cochran, Sampling Techniques, 6.4); error 0 for one
    sample.

    >>> ratio_with_error(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    (2.0, 0.0)
    """
    ratio = float(numerators.sum() / denominators.sum())
    n = numerators.size
    if n < 2:
        return ratio, 0.0
    residuals = numerators - ratio * denominators
    return ratio, float(np.sqrt((residuals**2).sum() / (n - 1) / n) / denominators.mean())
