"""An operator some of whose instances are far from both what they read and what reads them."""

import numpy as np
import pytest

from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Operator, Stream, Topology
from tests.unit.modeling.lindley import departures_s

LINE = Topology(
    "line", tuple(map(Operator, ("read", "work", "write"))), (Stream("read", "work"), Stream("work", "write"))
)
PROFILES = {
    "read": OperatorProfile("read", 0.0005),
    "work": OperatorProfile("work", 0.005),
    "write": OperatorProfile("write", 0.001),
}
WORKERS = 8
NEAR = Container(
    0, (Instance("read", 0), *(Instance("work", at) for at in range(WORKERS - 1)), Instance("write", 0)), "a"
)
FAR = Container(1, (Instance("work", WORKERS - 1),), "b")
PLAN = PhysicalPlan("line", {"read": 1, "work": WORKERS, "write": 1}, (NEAR, FAR))
LOAD_PER_S, TUPLES = 600.0, 150_000


def _told(delay_ms: float) -> Estimate:
    links = [MeasuredLink("a", "b", delay_ms=delay_ms)]
    streams = {"read->work": 100.0, "work->write": 100.0}
    site = Site(network=measured_network(links, np.random.default_rng(0)), bytes_per_tuple=streams)
    return evaluate(LINE, PROFILES, PLAN, {"read": LOAD_PER_S}, site=site, percentiles=True)


def _simulated_p95_s(delay_s: float) -> float:
    rng = np.random.default_rng(5)
    arrivals = np.cumsum(rng.exponential(1 / LOAD_PER_S, TUPLES))
    read = departures_s(arrivals, rng.exponential(0.0005, TUPLES))
    worked = np.empty(TUPLES)
    for instance in range(WORKERS):
        own, far_s = np.arange(instance, TUPLES, WORKERS), delay_s if instance == WORKERS - 1 else 0.0
        worked[own] = departures_s(read[own] + far_s, rng.exponential(0.005, own.size)) + far_s
    order = np.argsort(worked)
    took_s = departures_s(worked[order], rng.exponential(0.001, TUPLES)) - arrivals[order]
    return float(np.quantile(took_s[TUPLES // 10 :], 0.95))


def test_far_both_ways__is_noted_as_a_p95_that_is_too_short() -> None:
    told, simulated_s = _told(40.0), _simulated_p95_s(0.04)
    assert told.latency is not None
    assert 0.34 < told.latency.p95_s / simulated_s < 0.8
    (note,) = [note for note in told.notes if "far links" in note]
    assert note.startswith("tuples that work takes on b cross")
    assert "up to two thirds too short" in note


def test_nodes_that_are_near__are_not_noted() -> None:
    told = _told(0.5)
    assert told.latency is not None
    assert not any("far links" in note for note in told.notes)
    assert 0.95 < told.latency.p95_s / _simulated_p95_s(0.0005) < 1.1


def test_p95__lies_on_the_far_link_where_more_than_a_twentieth_of_the_tuples_take_it() -> None:
    # One of 10 readers is 40 ms away, the others 1 ms: p50 1 ms, and p95 and p99 40 ms, beside services of .01 ms.
    # A delay of the same mean, 4.9 ms, and deviation, 11.7 ms, has a p95 of 15 ms.
    pair = Topology("pair", (Operator("read"), Operator("work")), (Stream("read", "work"),))
    profiles = {name: OperatorProfile(name, 1e-5) for name in pair.order}
    containers = (
        Container(0, (Instance("read", 0),), "a"),
        Container(1, tuple(Instance("work", at) for at in range(9)), "b"),
        Container(2, (Instance("work", 9),), "c"),
    )
    links = [MeasuredLink(*ends, delay_ms=ms, jitter_ms=0.0) for ends, ms in (("ab", 1.0), ("ac", 40.0), ("bc", 40.0))]
    site = Site(network=measured_network(links, np.random.default_rng(0)), bytes_per_tuple={"read->work": 100.0})
    plan = PhysicalPlan("pair", {"read": 1, "work": 10}, containers)
    latency = evaluate(pair, profiles, plan, {"read": 100.0}, site=site, percentiles=True).latency
    assert latency is not None
    assert latency.mean_s == pytest.approx(0.9 * 0.001 + 0.1 * 0.04, rel=0.01)
    assert [latency.p50_s, latency.p95_s, latency.p99_s] == pytest.approx([0.001, 0.04, 0.04], rel=0.03)
