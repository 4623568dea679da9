"""One topology on the cluster: calibrated, rescaled to a plan, measured under a moderate load and under too much."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cases import Case
from compared import Floats, Measured, Predicted, Row, predicted, quantile_range

from forescale.local.demo.flink_measurement import bring_to, measured_bottleneck, throughput_per_s
from forescale.local.flink.local_cluster import LocalFlink
from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.flow.plan_rates import arrival_rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster

WARM_S = 4.0
"""Wait after a rescale before anything is measured."""
SETTLED_S = 8.0
"""Wait after the load has become too much, until all queues are full."""
CALIBRATION_LOADS = 3 * (0.6, 1.35)
"""Calibration is measured at these fractions of a case's moderate load, each as long as a plan. Several loads are used,
as in a day: their spread gives the intervals, and their difference separates waking from service."""
LATE_S = 1.0
"""Items due this shortly before the end of a span may still be under way."""


@dataclass(frozen=True)
class Step:
    """A predicted plan that now runs. downtime_s: of the rescale to it."""

    plan: PhysicalPlan
    load_share: float
    load_per_s: Mapping[str, float]
    told: Predicted
    downtime_s: float | None


@dataclass(frozen=True)
class Moderate:
    """Measurements at the predicted load."""

    samples: Sequence[OperatorSample]
    latencies_s: Floats


@dataclass(frozen=True)
class Full:
    """Measurements under far too much load. throughput_per_s: by source."""

    throughput_per_s: Mapping[str, float]
    bottleneck: str


class Bench:
    """A running case. span_s: length of a measurement under the moderate load; full_span_s: under too much."""

    def __init__(self, case: Case, flink: LocalFlink, span_s: float, full_span_s: float) -> None:
        self.case = case
        self.profiles: Profiles = case.job.declared_profiles()
        self._span_s, self._full_span_s = span_s, full_span_s
        self._clock = RealClock()
        self._cluster = FlinkCluster(flink.url, case.name, case.topology, warm_s=WARM_S)
        self._running = case.job.start(flink, case.load_per_s(case.calibration_per_s))
        self._room_per_s = case.calibration_per_s

    def calibrate(self) -> list[str]:
        """Measure service times and selectivities, none of them declared, at one plan under moderate loads.

        Returns calibration's notes.
        """
        bring_to(self._cluster, self.case.calibrated_at, self._clock)
        self._clock.wait(3 * WARM_S)  # time for Java's just-in-time compiler
        samples: list[OperatorSample] = []
        for part in CALIBRATION_LOADS:
            self._running.offer(self.case.load_per_s(part * self.case.calibration_per_s))
            self._clock.wait(WARM_S)
            samples += self._cluster.operator_samples(self._span_s)
        made = calibrated(self.case.topology, samples, self.profiles, warm_s=WARM_S)
        self.profiles = made.profiles
        return sorted({f"{self.case.name}: {note}" for one in made.operators.values() for note in one.notes})

    def bring(self, plan: PhysicalPlan, load_share: float) -> Step:
        """Predict a plan, rescale to it, and offer load_share of its predicted maximum."""
        mst_per_s = predicted(self.case, self.profiles, plan, self.case.load_per_s(1.0)).mst_per_s
        load_per_s = self.case.load_per_s(load_share * mst_per_s)
        told = predicted(self.case, self.profiles, plan, load_per_s)
        # A load that both plans carry easily, so that no queue of the previous plan is left.
        self._running.offer(self.case.load_per_s(0.3 * min(mst_per_s, self._room_per_s)))
        downtime_s = bring_to(self._cluster, plan, self._clock).downtime_s
        self._running.offer(load_per_s)
        self._room_per_s = mst_per_s
        return Step(plan, load_share, load_per_s, told, downtime_s)

    def moderate(self) -> Moderate:
        """Utilisation and latency."""
        self._clock.wait(WARM_S)
        since_s = time.time()
        samples = self._cluster.operator_samples(self._span_s)
        return Moderate(samples, self._running.latencies_s(since_s, time.time() - LATE_S))

    def full(self, step: Step) -> Full:
        """Maximum throughput and bottleneck, under far too much load."""
        self._running.offer(self.case.overload_per_s(step.told.mst_per_s))
        self._clock.wait(SETTLED_S)
        samples = self._cluster.operator_samples(self._full_span_s)
        self._running.offer(self.case.load_per_s(0.3 * step.told.mst_per_s))
        return full(self.case, step.plan, samples)

    def row(self, step: Step, moderate: Moderate, most: Full, *, repeats: bool) -> Row:
        latencies_s = moderate.latencies_s
        return Row(
            topology=self.case.name,
            plan=step.plan,
            load_share=step.load_share,
            load_per_s=step.load_per_s,
            told=step.told,
            known=predicted(self.case, self.case.job.true_profiles(), step.plan, step.load_per_s),
            measured=Measured(
                throughput_per_s=most.throughput_per_s,
                bottleneck=most.bottleneck,
                utilisation=used_by_busiest(moderate.samples, step.told),
                mean_s=float(latencies_s.mean()),
                p95_s=float(np.quantile(latencies_s, 0.95)),
                p95_range_s=quantile_range(latencies_s, 0.95),
                items=latencies_s.size,
            ),
            driver=self.case.driver,
            downtime_s=step.downtime_s,
            repeats=repeats,
        )

    def stop(self) -> None:
        self._running.cancel()


def full(case: Case, plan: PhysicalPlan, samples: Sequence[OperatorSample]) -> Full:
    """From the counters of an overloaded job.

    The driver's throughput is counted at the full operator: Flink shrinks buffers while they hold too much, so for some
    seconds its source emits less than the job processes.
    """
    bottleneck = measured_bottleneck(case.topology, samples)
    given = {source: throughput_per_s(samples, source) for source in case.mix}

    def reaches(source: str) -> float:
        """Items at the bottleneck per item of a source."""
        alone = {name: float(name == source) for name in case.mix}
        return arrival_rates(case.topology, case.job.true_profiles(), plan, alone).operator_per_s(bottleneck)

    others = sum(given[source] * reaches(source) for source in case.mix if source != case.driver)
    by_driver = throughput_per_s(samples, bottleneck) - others
    return Full({**given, case.driver: by_driver / reaches(case.driver)}, bottleneck)


def used_by_busiest(samples: Sequence[OperatorSample], told: Predicted) -> dict[str, float]:
    """Mean busy share of the instances that were predicted to be the busiest of their operator.

    The largest measured share would be too high: of many similar instances, one is busiest by chance.
    """
    return {
        name: float(
            np.mean([s.busy_s / s.span_s for s in samples if s.operator == name and s.index in told.busiest[name]])
        )
        for name in told.busiest
    }
