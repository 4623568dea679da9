"""Three operators that compute in one task manager: the cores of the container bound them, whatever the parallelism."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import pytest
from cpu_quota import cpu_quota, pid_of

from forescale.local.demo.flink_measurement import bring_to, throughput_per_s
from forescale.local.demo.modeled_job import ModeledJob, RunningModeledJob
from forescale.local.flink.local_cluster import LocalFlink
from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.flow.limits import ContainerLimit
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow, pytest.mark.xdist_group("flink-2")]

CORES = 0.5
NAMES = ("numbers", "parse", "score", "store")
TOPOLOGY = Topology("computing", tuple(map(Operator, NAMES)), tuple(Stream(a, b) for a, b in pairwise(NAMES)))
TRUTH = {
    name: OperatorProfile(name, cpu_s, service_cv2=1.0)
    for name, cpu_s in zip(NAMES, (0.0, 0.001, 0.003, 0.0005), strict=True)
}
JOB = ModeledJob(TOPOLOGY, TRUTH, computing=True)
FULL_PER_S = 3000.0
WARM_UP_S = 10.0
SPAN_S = 10.0
GIVEN = 0.95
"""Share of its cores that a full container must have got for a span to count: other programs may take the rest."""
SPANS, MEASURED = 18, 3
SITE = Site(container=ContainerSize(cores=CORES))


def plan(*counts: int) -> PhysicalPlan:
    """All instances in the one task manager."""
    parallelism = dict(zip(NAMES, counts, strict=True))
    instances = tuple(Instance(name, index) for name, count in parallelism.items() for index in range(count))
    return PhysicalPlan(TOPOLOGY.name, parallelism, (Container(1, instances),))


@pytest.fixture
def running(flink: LocalFlink) -> Iterator[RunningModeledJob]:
    job = JOB.start(flink, {"numbers": 100.0})
    yield job
    job.cancel()


def full_samples(cluster: FlinkCluster) -> Sequence[OperatorSample]:
    """Of the first span in which the machine gave the full container the cores that its site has."""
    given: list[float] = []
    for _ in range(SPANS):
        samples = cluster.operator_samples(SPAN_S)
        given.append(min((one.container_cpu_s or 0.0) / (one.container_cores or 1.0) / one.span_s for one in samples))
        if given[-1] >= GIVEN:
            return samples
    pytest.fail(f"the machine gave a full container {[f'{share:.0%}' for share in given]} of its {CORES:g} cores")


def busy_s(samples: Sequence[OperatorSample]) -> float:
    return sum(sample.busy_s for sample in samples)


def test_computing_operators__get_as_much_through_as_their_cores_allow(
    flink: LocalFlink, running: RunningModeledJob
) -> None:
    # Calibrated at one plan: while the container is full, and with a span at .6 of that load beside it.
    cluster = FlinkCluster(flink.url, TOPOLOGY.name, TOPOLOGY, warm_s=3.0, timeout_s=60, container_cores=CORES)
    running.offer({"numbers": FULL_PER_S})
    bring_to(cluster, plan(1, 2, 4, 2), RealClock())
    RealClock().wait(8.0)  # the compiler's part of the warm-up
    with cpu_quota(pid_of("TaskManagerRunner", str(flink.folder)), CORES):
        RealClock().wait(WARM_UP_S)
        full = full_samples(cluster)
        assert {sample.container_cores for sample in full} == {CORES}
        running.offer({"numbers": 0.6 * throughput_per_s(full, "numbers")})
        RealClock().wait(3.0)
        # The one that other programs held up least: time that a host does not give counts as waiting of its own.
        partly = min((cluster.operator_samples(SPAN_S) for _ in range(MEASURED)), key=busy_s)
        calibrations = [
            calibrated(TOPOLOGY, of, JOB.declared_profiles(), warm_s=3.0).profiles for of in (full, [*full, *partly])
        ]
        for profiles in calibrations:
            told_s = sum(profile.cpu_s or 0.0 for profile in profiles.values())
            assert told_s == pytest.approx(sum(profile.service_s for profile in TRUTH.values()), rel=0.2), profiles
        running.offer({"numbers": FULL_PER_S})
        for counts in ((1, 2, 4, 2), (1, 1, 1, 1), (1, 3, 6, 2)):
            bring_to(cluster, plan(*counts), RealClock())
            RealClock().wait(WARM_UP_S)
            got_per_s = [throughput_per_s(full_samples(cluster), "numbers") for _ in range(MEASURED)]
            for profiles in calibrations:
                estimate = evaluate(TOPOLOGY, profiles, plan(*counts), {"numbers": 1.0}, site=SITE)
                assert estimate.bottleneck == ContainerLimit(1), estimate.bottleneck
                assert estimate.mst_per_s["numbers"] == pytest.approx(median(got_per_s), rel=0.1), (counts, got_per_s)
