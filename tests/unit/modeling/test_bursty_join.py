"""A join of a bursty and a steady source whose tuples take unlike times: what varies is the work, not the tuples."""

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.queueing.bursts import Arrivals, Bursts
from tests.unit.modeling.bursty import arrivals_s
from tests.unit.modeling.lindley import departures_s

JOIN = Topology("join", (Operator("a"), Operator("b"), Operator("join")), (Stream("a", "join"), Stream("b", "join")))
LONG_S, SHORT_S, PER_S = 0.012, 0.002, 40.0
PROFILES = {
    "a": OperatorProfile("a", 1e-9),
    "b": OperatorProfile("b", 1e-9),
    "join": OperatorProfile("join", LONG_S, stream_service_s={"a->join": LONG_S, "b->join": SHORT_S}),
}
PLAN = PhysicalPlan("join", {"a": 1, "b": 1, "join": 1})
BURSTS = Bursts(0.2, 4.0, 2.0)


def simulated_latency_s(bursty: str, seed: int, count: int = 400_000) -> float:
    rng = np.random.default_rng(seed)
    burst = arrivals_s(rng, BURSTS, PER_S, count)
    steady = np.cumsum(rng.exponential(1 / PER_S, int(count * 1.5)))
    steady = steady[steady < burst[-1]]
    times = {"a": burst if bursty == "a" else steady, "b": steady if bursty == "a" else burst}
    services = {"a": rng.exponential(LONG_S, times["a"].size), "b": rng.exponential(SHORT_S, times["b"].size)}
    every = np.concatenate([times["a"], times["b"]])
    order = np.argsort(every)
    arrived, work = every[order], np.concatenate([services["a"], services["b"]])[order]
    return float(np.mean((departures_s(arrived, work) - arrived)[arrived.size // 10 :]))


@pytest.mark.slow
@pytest.mark.parametrize("bursty", ["a", "b"])
def test_the_bursty_source__counts_by_its_work(bursty: str) -> None:
    steady = "b" if bursty == "a" else "a"
    arrivals = Arrivals(by_source={bursty: Arrivals(1.0, BURSTS), steady: Arrivals()})
    estimate = evaluate(JOIN, PROFILES, PLAN, {"a": PER_S, "b": PER_S}, arrival_cv2=arrivals)
    # By tuples both would be 0.58 s. Simulated: about 2 s and 0.027 s; runs of the first differ by a tenth.
    simulated_s = np.mean([simulated_latency_s(bursty, seed=seed) for seed in range(4)])
    assert estimate.latency_s == pytest.approx(float(simulated_s), rel=0.3)


def test_sources_that_burst__are_taken_to_burst_at_once_and_a_note_says_so() -> None:
    both = evaluate(JOIN, PROFILES, PLAN, {"a": 5.0, "b": 5.0}, arrival_cv2=Arrivals(1.0, BURSTS))
    assert any("burst at the same time" in note for note in both.notes)
    one = Arrivals(by_source={"a": Arrivals(1.0, BURSTS), "b": Arrivals()})
    alone = evaluate(JOIN, PROFILES, PLAN, {"a": 5.0, "b": 5.0}, arrival_cv2=one)
    assert not any("same time" in note for note in alone.notes)
