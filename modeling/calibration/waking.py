"""What waking an idle instance adds to the busy seconds of a tuple, told by samples at several loads.

Engines that count an instance as busy from when a tuple arrives count the time until its thread runs, too (Flink ends
its idle time in the thread that hands the tuple over). Who finds the instance at work is spared that: a tuple keeps it
busy for s + w · idle share, and at its maximum, where it is never idle, for s alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from modeling.arrays import Floats
from modeling.calibration.measured import Measured, measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Topology

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Waking:
    """each: seconds that waking takes, one number for all operators of a cluster."""

    each: Measured

    def without(self, sample: OperatorSample, tuples: float) -> OperatorSample:
        """The sample with what its service alone kept the instance busy for."""
        left = max(0.0, 1 - self.each.value * tuples * _idle_share(sample) / sample.busy_s) if sample.busy_s else 1.0
        by_stream = {name: left * spent_s for name, spent_s in sample.busy_s_by.items()}
        return replace(sample, busy_s=left * sample.busy_s, busy_s_by=by_stream)

    def service_error_s(self, samples: Sequence[OperatorSample], tuples: Floats) -> float:
        """Standard error that a service time has by it."""
        return self.each.error * float(np.average([_idle_share(one) for one in samples], weights=tuples))

    @property
    def note(self) -> str:
        return (
            f"service times are those of busy instances: waking an idle one takes {1000 * self.each.value:.2g} ms, "
            f"between {1000 * self.each.low:.2g} and {1000 * self.each.high:.2g}, as samples at several loads show"
        )


def waking(
    topology: Topology, used: Mapping[str, Sequence[OperatorSample]], tuples: Mapping[str, Floats]
) -> Waking | None:
    """None where samples do not show any. used, tuples: of each operator its samples and what each worked on.

    Each instance is compared with itself at other times, as instances and operators have reasons of their own to take
    longer; samples are weighed by their tuples over the square of the service time, as services vary by that. Operators
    with several inputs are left out, since the mix of these may change with the load.
    """
    apart = [_within(*each) for each in _instances(topology, used, tuples)]
    if not apart:
        return None
    idle, longer_s, weights = (np.concatenate(each) for each in zip(*apart, strict=True))
    freedom, spread = idle.size - len(apart) - 1, float(weights @ idle**2)
    if freedom < 1 or spread <= 1e-12 * weights.sum():
        return None
    slope_s = float(weights @ (idle * longer_s)) / spread
    error_s = float(np.sqrt(weights @ (longer_s - slope_s * idle) ** 2 / freedom / spread))
    if slope_s <= 0 or stdtr(freedom, -slope_s / max(error_s, 1e-300)) > SIGNIFICANT:
        return None
    return Waking(measured(slope_s, error_s, freedom))


def _instances(
    topology: Topology, used: Mapping[str, Sequence[OperatorSample]], tuples: Mapping[str, Floats]
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Of each that was sampled more than once: idle shares, busy seconds a tuple, and tuples."""
    for name, samples in used.items():
        if len(topology.inputs(name)) != 1:
            continue
        of: dict[tuple[int, int | None], list[int]] = {}
        for at, sample in enumerate(samples):
            if tuples[name][at] > 0 and sample.busy_s > 0:
                of.setdefault((sample.index, sample.parallelism), []).append(at)
        for places in of.values():
            if len(places) > 1:
                counts = tuples[name][places]
                busy_s = np.array([samples[at].busy_s for at in places])
                yield np.array([_idle_share(samples[at]) for at in places]), busy_s / counts, counts


def _within(idle: Floats, each_s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """By how much each sample of an instance differs from their mean, and what it weighs."""
    mean_s = float(np.average(each_s, weights=counts))
    return idle - np.average(idle, weights=counts), each_s - mean_s, counts / mean_s**2


def _idle_share(sample: OperatorSample) -> float:
    return max(0.0, 1 - (sample.busy_s + sample.backpressured_s) / sample.span_s)
