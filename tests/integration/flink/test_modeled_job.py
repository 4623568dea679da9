"""The job of known service times does what the model is told that it does."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
from machine import stretched

from forescale.local.demo.flink_measurement import bring_to, throughput_per_s
from forescale.local.demo.modeled_job import ModeledJob, RunningModeledJob
from forescale.local.demo.word_count import RunningWordCount
from forescale.local.flink.local_cluster import LocalFlink
from modeling.calibration.calibrated import calibrated
from modeling.inputs.operator_profile import Feature, OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow]

TOPOLOGY = Topology(
    "modeled-under-test",
    (Operator("orders"), Operator("clicks"), Operator("check"), Operator("settle")),
    (
        Stream("orders", "check"),
        Stream("check", "settle", Grouping.FIELDS),
        Stream("clicks", "settle", Grouping.FIELDS),
    ),
)
TRUTH = {
    "orders": OperatorProfile("orders", 0.0, {"orders->check": 1.0}, service_cv2=0.0),
    "clicks": OperatorProfile("clicks", 0.0, {"clicks->settle": 1.0}, service_cv2=0.0),
    "check": OperatorProfile("check", 0.008, {"check->settle": 1.5}, service_cv2=0.5),
    "settle": OperatorProfile("settle", 0.004, service_cv2=0.5),
}
JOB = ModeledJob(TOPOLOGY, TRUTH, keys=1000)
LOAD_PER_S = {"orders": 80.0, "clicks": 40.0}


@pytest.fixture
def running(flink: LocalFlink) -> Iterator[RunningModeledJob]:
    job = JOB.start(flink, LOAD_PER_S)
    yield job
    job.cancel()


def test_modeled_job__takes_the_times_and_gives_the_items_that_it_was_told_to(
    flink: LocalFlink, running: RunningModeledJob
) -> None:
    plan = PhysicalPlan(TOPOLOGY.name, {"orders": 1, "clicks": 1, "check": 2, "settle": 1})
    cluster = FlinkCluster(flink.url, TOPOLOGY.name, TOPOLOGY, warm_s=4.0, timeout_s=60)
    bring_to(cluster, plan, RealClock())
    since_s = time.time() + 4.0
    with stretched() as stretch:
        samples = cluster.operator_samples(10.0)
    spans_s = [sample.span_s for sample in samples]
    assert max(spans_s) - min(spans_s) < 1.0  # counters of all vertices are of the same two moments, 2 s apart or more
    latencies_s = running.latencies_s(since_s, time.time() - 1.0)
    profiles = calibrated(TOPOLOGY, samples, JOB.declared_profiles(), warm_s=3.0).profiles
    # 80 and 40 arrivals a second, for ten seconds or more: ±3.5 and ±5 % (one standard deviation) if Poisson. Where the
    # machine is late, the sources are.
    assert 0.86 * 80 / stretch.factor < throughput_per_s(samples, "orders") < 1.14 * 80
    assert 0.8 * 40 / stretch.factor < throughput_per_s(samples, "clicks") < 1.2 * 40
    # ±2.5 and ±1.8 %; a machine that is late adds to it, and never takes from it.
    assert 0.8 * 0.008 < profiles["check"].service_s < 1.2 * 0.008 * stretch.factor
    assert 0.8 * 0.004 < profiles["settle"].service_s < 1.2 * 0.004 * stretch.factor
    assert profiles["check"].selectivity["check->settle"] == pytest.approx(1.5, rel=0.1)
    # 120 orders and 40 clicks a second reach the sink. A click works 4 ms there, an order 8 ms before that: 10 ms on
    # average without any wait. `settle` is 64 % busy: it is full on a machine that is half as late again.
    assert latencies_s.size > 160 * 8 / stretch.factor
    assert latencies_s.mean() > 0.009
    assert latencies_s.mean() < 1.0 or stretch.factor > 1.5
    assert float(np.quantile(latencies_s, 0.95)) > 1.5 * float(np.median(latencies_s))


def test_samples__hold_the_tasks_of_the_job_beside_it(
    flink: LocalFlink, running: RunningModeledJob, word_count: RunningWordCount
) -> None:
    cluster = FlinkCluster(flink.url, TOPOLOGY.name, TOPOLOGY, warm_s=1.0, timeout_s=60)
    with stretched() as stretch:
        samples = cluster.operator_samples(3.0)
    for sample in samples:
        assert Feature.OTHER_JOBS in sample.features
        # 100 sentences a second, each of 4 ms and of five words of 1 ms, over however many instances.
        busy_s = sum(task.busy_s for task in sample.beside)
        assert busy_s > 0.8 * 0.9 * sample.span_s / stretch.factor
        assert len({task.name for task in sample.beside}) >= 3  # sentences, split and count
