"""An operator some of whose instances are far from both what they read and what reads them."""

import numpy as np

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
