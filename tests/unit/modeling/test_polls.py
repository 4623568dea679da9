"""Sources that poll: what a tuple waits for the poll and in its batch makes up for each other."""

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.topology import Operator, Stream, Topology

EVERY_S = 0.1
ALONE = Topology("polls", (Operator("in"),), ())
ONE = PhysicalPlan("polls", {"in": 1})


def simulated_s(per_s: float, service_s: float, cv2: float) -> np.ndarray:
    """Latencies of Poisson arrivals at an instance that asks every 0.1 s, and works off what came until then. Services
    are gamma.
    """
    rng = np.random.default_rng(5)
    arrived_s = np.cumsum(rng.exponential(1 / per_s, 400_000))
    begins_s = np.ceil(arrived_s / EVERY_S) * EVERY_S
    services_s = rng.gamma(1 / cv2, cv2 * service_s, arrived_s.size)
    # Lindley: what waits is worked off in the order of arrival, from its poll on.
    done_s = np.cumsum(services_s)
    slack_s = np.maximum.accumulate(begins_s - (done_s - services_s))
    return done_s + slack_s - arrived_s


@pytest.mark.parametrize(("per_s", "used"), [(2.0, 0.01), (200.0, 0.1), (200.0, 0.5), (200.0, 0.8), (20.0, 0.6)])
def test_a_polled_tuple__waits_for_the_poll_and_those_before_it_as_in_a_simulation(per_s: float, used: float) -> None:
    service_s, cv2 = used / per_s, 0.5
    latencies_s = simulated_s(per_s, service_s, cv2)
    profile = OperatorProfile("in", service_s, service_cv2=cv2, polling=Polling(EVERY_S, 1_000_000))
    told = evaluate(ALONE, {"in": profile}, ONE, {"in": per_s}, percentiles=True)
    assert told.latency is not None
    assert told.latency_s == pytest.approx(float(latencies_s.mean()), rel=0.06)
    assert told.latency.mean_s == pytest.approx(told.latency_s, rel=0.02)
    p95_s = float(np.quantile(latencies_s, 0.95))
    assert told.latency.p95_s == pytest.approx(p95_s, rel=0.1)
    many = evaluate_many(ALONE, {"in": profile}, [ONE], {"in": [per_s]}).latency
    assert many is not None
    assert float(many.quantile_s(0.95)[0, 0]) == pytest.approx(p95_s, rel=0.1)


def test_a_full_instance_that_polls__answers_within_a_little_more_than_the_interval() -> None:
    """A thousand tuples a poll, which fill .9 of the interval, are all done at its end: between .9 and 1 of it, not up
    to 1.9 as if what came last also waited longest for the poll.
    """
    profile = OperatorProfile("in", 0.9e-4, service_cv2=0.1, polling=Polling(EVERY_S, 1_000_000))
    told = evaluate(ALONE, {"in": profile}, ONE, {"in": 10_000.0}, percentiles=True).latency
    assert told is not None
    assert 0.9 * EVERY_S < told.p50_s < told.p99_s < 1.1 * EVERY_S


@pytest.mark.parametrize("used", [0.5, 0.8])
def test_batches_of_polls_at_a_reader__are_told_up_to_a_third_too_long_with_a_note(used: float) -> None:
    per_s = 200.0
    latencies_s = simulated_s(per_s, used / per_s, 0.5)
    topology = Topology("line", (Operator("in"), Operator("work")), (Stream("in", "work"),))
    profiles = {
        "in": OperatorProfile("in", 1e-6, {"in->work": 1.0}, polling=Polling(EVERY_S, 1_000_000)),
        "work": OperatorProfile("work", used / per_s, service_cv2=0.5),
    }
    plan = PhysicalPlan("line", {"in": 1, "work": 1})
    told = evaluate(topology, profiles, plan, {"in": per_s}, percentiles=True)
    assert told.latency is not None
    assert 1.1 < told.latency.p95_s / float(np.quantile(latencies_s, 0.95)) < 1.34
    assert any("p95 up to a third too long" in note for note in told.notes)
    # One tuple a poll waits for no other.
    alone = evaluate(topology, profiles, plan, {"in": 10.0}, percentiles=True)
    assert not any("too long" in note for note in alone.notes)
