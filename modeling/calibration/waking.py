"""The busy seconds added to a tuple by waking an idle instance, estimated from samples at several loads.

Engines that count an instance as busy from when a tuple arrives count the time until its thread runs, too (Flink ends
its idle time in the thread that hands the tuple over: `StreamTask.ResumeWrapper`). Tuples that find the instance busy
are spared that: a tuple takes s + w · idle share, and only s at maximum load, where the instance is never idle. An
instance with several threads does not show this: a tuple may find one thread idle while others work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from modeling.arrays import Floats, numbered
from modeling.calibration.measured import Measured, measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import Sifted
from modeling.calibration.sittings import widened_by_pace
from modeling.calibration.spans import span_numbers
from modeling.inputs.topology import Topology

SIGNIFICANT = 0.05
LOADS_APART = 0.15
"""Minimum difference of an instance's idle shares for its samples to count as several loads. At one load they also
differ, when a machine is late; a slope through those is noise.
"""
WAITED = 0.1
"""Share of the busy time spent waiting for cores, or for calls, above which a sample tells nothing of waking."""
CONTRADICTS = 2.0
"""Standard errors by which one operator's estimate may lie below the common one, or above what its tuples take."""


@dataclass(frozen=True)
class Waking:
    """each: seconds per waking, common to all operators of a cluster. operators: those that show it, or do not
    contradict it.
    """

    each: Measured
    operators: frozenset[str]

    def without(self, sample: OperatorSample, tuples: float) -> OperatorSample:
        """The sample with the busy time of service alone."""
        if sample.busy_s == 0 or tuples == 0:
            return sample
        idle, mean_s = _idle_share(sample), sample.busy_s / tuples
        # A tuple takes at least what it computes: waking an instance is waiting.
        computed_s = min(mean_s, (sample.cpu_s or 0.0) / tuples)
        service_s = max(computed_s, mean_s - self.each.value * idle)
        part = service_s / mean_s
        square_s2 = sample.service_second_moment_s2
        if square_s2 is not None:  # E[(s + w)²] = E[s²] + 2 w E[s] + w² for tuples that wake it
            square_s2 -= idle * self.each.value * (2 * service_s + self.each.value)
            square_s2 = max(square_s2, service_s**2)
        by_stream = {name: part * spent_s for name, spent_s in sample.busy_s_by.items()}
        busy_s = part * sample.busy_s
        return replace(sample, busy_s=busy_s, busy_s_by=by_stream, service_second_moment_s2=square_s2)

    def service_error_s(self, samples: Sequence[OperatorSample], tuples: Floats) -> float:
        """Contribution to the standard error of a service time."""
        return self.each.error * float(np.average([_idle_share(one) for one in samples], weights=tuples))

    @property
    def note(self) -> str:
        return (
            f"service times are those of busy instances: waking an idle one takes {1000 * self.each.value:.2g} ms, "
            f"between {1000 * self.each.low:.2g} and {1000 * self.each.high:.2g}, as samples at several loads show"
        )


@dataclass(frozen=True)
class _Compared:
    """Samples relative to their instance's mean: idle share, busy seconds per tuple, weight; tuples, and the number of
    the span. instances: number. mean_idle, mean_s: of all tuples.
    """

    idle: Floats
    longer_s: Floats
    weights: Floats
    tuples: Floats
    span: Floats
    instances: int
    mean_idle: float = 0.0
    mean_s: float = np.inf

    @classmethod
    def of(
        cls, parts: Sequence[Sequence[Floats]], instances: int, mean_idle: float = 0.0, mean_s: float = np.inf
    ) -> "_Compared":
        """parts: `of_samples` of several, put together."""
        idle, longer_s, weights, tuples, span = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(idle, longer_s, weights, tuples, span, instances, mean_idle, mean_s)

    @property
    def of_samples(self) -> tuple[Floats, ...]:
        return self.idle, self.longer_s, self.weights, self.tuples, self.span

    @property
    def leaves_service(self) -> bool:
        """Whether tuples may take any time without the waking that the slope says. If not, the clock makes the work, as
        with timers, and each tuple has the less of it the more there are.
        """
        own = self.slope_s()
        return own is None or (own[0].value - CONTRADICTS * own[0].error) * self.mean_idle < self.mean_s

    def slope_s(self) -> tuple[Measured, float] | None:
        """Slope of service time over idle share, and its degrees of freedom; None if idle shares do not differ."""
        freedom, spread = self.idle.size - self.instances - 1, float(self.weights @ self.idle**2)
        if freedom < 1 or spread <= 1e-12 * self.weights.sum():
            return None
        slope_s = float(self.weights @ (self.idle * self.longer_s)) / spread
        root, pace = np.sqrt(self.weights), np.sqrt(self.tuples)
        left = root * (self.longer_s - slope_s * self.idle)
        # Beside the slope the means were fitted.
        design, span = np.column_stack([root * self.idle, pace]), numbered(self.span.tolist())
        widening, free = widened_by_pace(design, left, pace, span, np.array([[1.0, 0.0]]), freedom)
        return measured(slope_s, float(np.sqrt(left @ left / freedom / spread * widening)), free), free


def waking(topology: Topology, sets: Mapping[str, Sifted], tuples: Mapping[str, Floats]) -> Waking | None:
    """None if samples do not show any. sets, tuples: per operator its samples and the tuples each worked on.

    Each instance is compared with itself at other times, since instances and operators differ for other reasons;
    samples are weighted by tuples over the squared service time, to which the variance is proportional. Operators with
    several inputs are left out, since their mix may change with the load.
    """
    span = span_numbers([sample for kept in sets.values() for sample in kept.used]).astype(np.float64)
    ends = np.cumsum([len(kept.used) for kept in sets.values()])[:-1]
    apart = {
        name: found
        for (name, kept), number in zip(sets.items(), np.split(span, ends), strict=True)
        if len(topology.inputs(name)) == 1
        and (found := _compared(kept, tuples[name], number)) is not None
        and found.leaves_service
    }
    if not apart:
        return None
    together = _Compared.of([one.of_samples for one in apart.values()], sum(one.instances for one in apart.values()))
    fitted = together.slope_s()
    if fitted is None:
        return None
    each, freedom = fitted
    if each.value <= 0 or scipy.special.stdtr(freedom, -each.value / max(each.error, 1e-300)) > SIGNIFICANT:
        return None
    alone = {name: fit[0] for name, one in apart.items() if (fit := one.slope_s())}
    showing = {name for name, own in alone.items() if own.value + CONTRADICTS * own.error >= 0.99 * each.value}
    return Waking(each, frozenset(showing))


def _compared(kept: Sifted, tuples: Floats, span: Floats) -> _Compared | None:
    """Compare the samples of one operator; None if no instance was sampled at several loads. How long instances waited
    for a core is estimated, and the estimate changes with the load: samples of much waiting are not compared.
    """
    samples = kept.used
    of: dict[tuple[int, int | None], list[int]] = {}
    for at, (sample, engine) in enumerate(zip(samples, kept.counted, strict=True)):
        waited = sample.busy_s < (1 - WAITED) * engine.busy_s
        if tuples[at] > 0 and sample.busy_s > 0 and (sample.threads or 1) == 1 and not waited:
            of.setdefault((sample.index, sample.parallelism), []).append(at)
    parts, means = [], []
    for places in (places for places in of.values() if len(places) > 1):
        counts = tuples[places]
        idle = np.array([_idle_share(samples[at]) for at in places])
        if np.ptp(idle) < LOADS_APART:
            continue
        each_s = np.array([samples[at].busy_s for at in places]) / counts
        mean_s = float(np.average(each_s, weights=counts))
        means.append((float(counts.sum()), float(np.average(idle, weights=counts)), mean_s))
        longer_s = each_s - mean_s
        parts.append((idle - np.average(idle, weights=counts), longer_s, counts / mean_s**2, counts, span[places]))
    if not parts:
        return None
    of_all = np.array(means)
    mean_idle, all_mean_s = np.average(of_all[:, 1:], axis=0, weights=of_all[:, 0])
    return _Compared.of(parts, len(parts), float(mean_idle), float(all_mean_s))


def _idle_share(sample: OperatorSample) -> float:
    return max(0.0, 1 - (sample.busy_s + sample.backpressured_s) / sample.span_s)
