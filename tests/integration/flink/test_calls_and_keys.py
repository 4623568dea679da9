"""Jobs as users have them: asynchronous calls, and keys that are numbers."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from machine import stretched

from forescale.local.demo.flink_measurement import bring_to, measured_bottleneck, throughput_per_s
from forescale.local.demo.modeled_job import offer
from forescale.local.flink.example_job import SOURCES, example_job
from forescale.local.flink.local_cluster import LocalFlink
from forescale.local.flink.submission import cancel_job, submit_job
from modeling.calibration.calibrated import calibrated
from modeling.evaluate import evaluate
from modeling.inputs.calls import Calls
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow, pytest.mark.xdist_group("flink-2")]

ROWS = Path(__file__).parents[2] / "flink_rows"
SPAN_S, SETTLE_S = 5.0, 4.0
SPANS = 6
"""At most: on a busy machine, calls and waits of milliseconds end late now and then."""
WORK_S = 0.005
"""What a tuple with a key that is a number waits in its operator (rows.LongKeys)."""


@contextmanager
def running(flink: LocalFlink, main_class: str, topology: Topology, per_s: float) -> Iterator[FlinkCluster]:
    """The job under a load."""
    folder = flink.folder / topology.name
    folder.mkdir()
    offer(folder, {"items": per_s})
    jar = example_job(flink.java, flink.distribution, flink.folder, SOURCES, ROWS)
    job_id = submit_job(
        flink.url, jar, {"rates": str(folder), "job-name": topology.name}, main_class=f"rows.{main_class}"
    )
    try:
        yield FlinkCluster(flink.url, topology.name, topology, {"store": "store: Writer"}, warm_s=3.0, timeout_s=60)
    finally:
        cancel_job(flink.url, job_id)


def reached_per_s(cluster: FlinkCluster, operator: str, told_per_s: float) -> float:
    """The most of a few spans: new instances start slowly."""
    most = 0.0
    for _ in range(SPANS):
        most = max(most, throughput_per_s(cluster.operator_samples(SPAN_S), operator))
        if most >= 0.9 * told_per_s:
            break
    return most


def test_asynchronous_calls__bound_an_idle_operator_and_are_named(flink: LocalFlink) -> None:
    # Ten calls at once of 100 ms: 100/s an instance, while busy times say that it is idle.
    topology = Topology(
        "async-calls",
        tuple(map(Operator, ("items", "call", "store"))),
        (Stream("items", "call"), Stream("call", "store", Grouping.FORWARD)),
    )
    # What waits nearly all the time may have no busy time, so its service time stays as declared.
    service_s = {"items": 1e-4, "call": 1.0, "store": 1e-4}
    declared = {name: OperatorProfile(name, each) for name, each in service_s.items()}
    calling = declared | {"call": replace(declared["call"], calls=Calls(10, 1.0))}
    first = PhysicalPlan(topology.name, dict.fromkeys(topology.order, 1))
    with running(flink, "AsyncCalls", topology, 5000.0) as cluster:
        RealClock().wait(SETTLE_S)
        for _ in range(SPANS):
            with stretched() as stretch:
                samples = cluster.operator_samples(SPAN_S)
            undeclared = calibrated(topology, samples, declared, warm_s=1.0)
            told = evaluate(topology, undeclared.profiles, first, {"items": 60.0})
            profiles = calibrated(topology, samples, calling, warm_s=1.0).profiles
            known = profiles["call"].calls
            if told.mst_per_s["items"] > 0.95 * 100 and known is not None and known.call_s < 1.05 * 0.1:
                break
        assert str(told.bottleneck) == "call", (samples, undeclared.operators)
        # A machine that is late answers late.
        assert 100 / 1.1 / stretch.factor < told.mst_per_s["items"] < 1.1 * 100
        assert any("declare calls" in note for note in undeclared.operators["call"].notes)
        assert known is not None
        assert 0.1 / 1.1 < known.call_s < 1.1 * stretch.factor * 0.1
        for count in (1, 2):
            plan = PhysicalPlan(topology.name, {"items": 1, "call": count, "store": count})
            told = evaluate(topology, profiles, plan, {"items": 60.0}, percentiles=True)
            bring_to(cluster, plan, RealClock())
            RealClock().wait(SETTLE_S)
            assert str(told.bottleneck) == "call"
            assert reached_per_s(cluster, "call", told.mst_per_s["items"]) == pytest.approx(
                told.mst_per_s["items"], rel=0.1
            ), count
            assert told.latency is not None
            assert told.latency.p50_s > 0.06  # a call is in each latency


def test_keys_that_are_longs__load_the_instances_that_the_estimate_names(flink: LocalFlink) -> None:
    topology = Topology(
        "long-keys",
        tuple(map(Operator, ("items", "work", "store"))),
        (Stream("items", "work", Grouping.FIELDS), Stream("work", "store", Grouping.FORWARD)),
    )
    weights = [1 / (key + 1) for key in range(100)]
    keys = KeyHistogram({str(key): each / sum(weights) for key, each in enumerate(weights)}, key_type=KeyType.LONG)
    # A source that waits for room all the time has no busy time either.
    service_s = dict.fromkeys(topology.order, 1.0) | {"items": 1e-4}
    declared = {name: OperatorProfile(name, each, keys=keys) for name, each in service_s.items()}
    with running(flink, "LongKeys", topology, 3000.0) as cluster:
        RealClock().wait(SETTLE_S)
        for _ in range(SPANS):
            profiles = calibrated(topology, cluster.operator_samples(SPAN_S), declared, warm_s=1.0).profiles
            if profiles["work"].service_s < 1.05 * WORK_S:
                break
        assert profiles["work"].service_s == pytest.approx(WORK_S, rel=0.05)
        for count in (3, 8):
            plan = PhysicalPlan(topology.name, {"items": 1, "work": count, "store": count})
            told = evaluate(topology, profiles, plan, {"items": 100.0})
            bring_to(cluster, plan, RealClock())
            RealClock().wait(SETTLE_S)
            most = reached_per_s(cluster, "work", told.mst_per_s["items"])
            assert most == pytest.approx(told.mst_per_s["items"], rel=0.1), count
            samples = cluster.operator_samples(SPAN_S)
            assert str(told.bottleneck) == measured_bottleneck(topology, samples) == "work"
            read = Counter({each.index: each.records_in for each in samples if each.operator == "work"})
            assert int(told.operators["work"].instance_utilisation.argmax()) == read.most_common(1)[0][0]
