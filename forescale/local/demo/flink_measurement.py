"""Prediction against measurement on a real Flink: calibrate at one parallelism, predict others, then measure them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forescale.local.demo.word_count import COUNT, SOURCE, SPLIT, WordCount
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.local_cluster import LocalFlink
from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clock import Clock, RealClock
from planner.clusters.cluster import Pending, Refusal, Verified
from planner.clusters.flink import FlinkCluster

EQUALLY_BUSY = 0.01
"""Utilisations that differ by less than this count as equal."""

MODERATE = 0.75
"""Load as a share of declared capacity while service times are measured: busy, but without queues."""

_CALIBRATED_AT = (1, 2, 2)
_UNSEEN = ((1, 1, 2), (1, 3, 2), (1, 4, 6), (2, 6, 5), (1, 7, 12))


@dataclass(frozen=True)
class MeasuredPlan:
    """One parallelism, as predicted before it ran and as measured under more load than it can carry.

    predicted_per_s, measured_per_s: maximum sustainable throughput of the source in tuples a second.
    utilisation: measured, of the busiest instance per operator. downtime_s: of the rescale to it, None if not reported.
    """

    plan: PhysicalPlan
    predicted_per_s: float
    measured_per_s: float
    predicted_bottleneck: str
    measured_bottleneck: str
    utilisation: Mapping[str, float]
    downtime_s: float | None

    @property
    def error(self) -> float:
        """Relative error of the prediction, positive if it was too high."""
        return self.predicted_per_s / self.measured_per_s - 1


@dataclass(frozen=True)
class FlinkMeasurement:
    """calibrated_at: the one plan at which profiles were measured."""

    calibrated_at: PhysicalPlan
    profiles: Profiles
    rows: tuple[MeasuredPlan, ...]

    @property
    def median_error(self) -> float:
        """Median of the absolute relative errors."""
        return float(np.median([abs(row.error) for row in self.rows]))

    @property
    def bottlenecks_right(self) -> int:
        return sum(row.predicted_bottleneck == row.measured_bottleneck for row in self.rows)


def measure_word_count(
    flink: LocalFlink,
    job: WordCount | None = None,
    unseen: Sequence[tuple[int, int, int]] = _UNSEEN,
    *,
    span_s: float = 20.0,
    warm_s: float = 8.0,
    progress: Callable[[str], None] = lambda text: None,
) -> FlinkMeasurement:
    """Run the word count, calibrate it at one parallelism under moderate load, then predict and measure the others.

    unseen: parallelism of sentences, split and count. span_s: how long each is measured, warm_s after it started.
    progress: called with a line per measured plan. Raises LocalFlinkError or ClusterError when the job does not run as
    requested.
    """
    job, clock = job or WordCount(skew=0.8), RealClock()
    topology, declared = job.topology, job.declared_profiles()
    cluster = FlinkCluster(flink.url, job.name, topology, warm_s=warm_s, clock=clock, timeout_s=60)
    first = word_count_plan(job, _CALIBRATED_AT)
    moderate_per_s = MODERATE * evaluate(topology, declared, first, {SOURCE: 1.0}).mst_per_s[SOURCE]
    running = job.start(flink, moderate_per_s)
    try:
        bring_to(cluster, first, clock)
        profiles = calibrated(topology, cluster.operator_samples(span_s), declared, warm_s=warm_s / 2).profiles
        plans = [word_count_plan(job, parallelism) for parallelism in unseen]
        predicted = [evaluate(topology, profiles, plan, {SOURCE: moderate_per_s}) for plan in plans]
        # Far above the largest capacity: only then does backpressure show the bottleneck.
        running.offer(3 * max(estimate.mst_per_s[SOURCE] for estimate in predicted))
        rows = []
        for plan, estimate in zip(plans, predicted, strict=True):
            verified = bring_to(cluster, plan, clock)
            rows.append(_row(topology, plan, estimate, cluster.operator_samples(span_s), verified))
            progress(f"{plan.brief()}: {rows[-1].measured_per_s:.0f}/s, predicted {rows[-1].predicted_per_s:.0f}/s")
    finally:
        running.cancel()
    return FlinkMeasurement(first, profiles, tuple(rows))


def throughput_per_s(samples: Sequence[OperatorSample], operator: str) -> float:
    """Tuples a second that all instances of an operator took in."""
    return sum(sample.records_in / sample.span_s for sample in samples if sample.operator == operator)


def utilisations(topology: Topology, samples: Sequence[OperatorSample]) -> Mapping[str, float]:
    """Busy share of the time of the busiest instance, per operator."""
    return {
        name: max((sample.busy_s / sample.span_s for sample in samples if sample.operator == name), default=0.0)
        for name in topology.order
    }


def measured_bottleneck(topology: Topology, samples: Sequence[OperatorSample]) -> str:
    """The operator with the busiest instance: upstream ones wait for buffer space, downstream ones for tuples.

    Of several equally busy ones the most downstream, since a backpressured operator is not busy all the time.
    """
    busy = utilisations(topology, samples)
    return [name for name in topology.order if busy[name] >= max(busy.values()) - EQUALLY_BUSY][-1]


def _row(
    topology: Topology, plan: PhysicalPlan, estimate: Estimate, samples: Sequence[OperatorSample], verified: Verified
) -> MeasuredPlan:
    return MeasuredPlan(
        plan=plan,
        predicted_per_s=estimate.mst_per_s[SOURCE],
        measured_per_s=throughput_per_s(samples, SOURCE),
        predicted_bottleneck=str(estimate.bottleneck),
        measured_bottleneck=measured_bottleneck(topology, samples),
        utilisation=utilisations(topology, samples),
        downtime_s=verified.downtime_s,
    )


def word_count_plan(job: WordCount, parallelism: tuple[int, int, int]) -> PhysicalPlan:
    return PhysicalPlan(job.name, dict(zip((SOURCE, SPLIT, COUNT), parallelism, strict=True)))


def bring_to(cluster: FlinkCluster, plan: PhysicalPlan, clock: Clock, within_s: float = 60.0) -> Verified:
    """Rescale the running job to a plan and wait until it runs. Raises LocalFlinkError when it does not."""
    accepted = cluster.apply(plan, expected=cluster.state().plan)
    if isinstance(accepted, Refusal):
        raise LocalFlinkError(accepted.reason)
    progress = cluster.progress(accepted)
    waited_s = 0.0
    while isinstance(progress, Pending) and waited_s < within_s:
        clock.wait(0.5)
        waited_s += 0.5
        progress = cluster.progress(accepted)
    if not isinstance(progress, Verified):
        raise LocalFlinkError(f"{plan.brief()} does not run after {waited_s:g} s: {progress.reason}")
    return progress
