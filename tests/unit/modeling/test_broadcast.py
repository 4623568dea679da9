"""Rules that are broadcast to the instances that match tuples by them, and make no match themselves."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.queueing.bursts import Arrivals, Bursts
from tests.unit.modeling.lindley import departures_s

KEYED, RULES = Stream("facts", "match", Grouping.FIELDS), Stream("rules", "match", Grouping.ALL)
STREAMS = (KEYED, RULES, Stream("match", "out"))
JOB = Topology("rules", tuple(map(Operator, ("facts", "rules", "match", "out"))), STREAMS)
PLAN = PhysicalPlan("rules", {"facts": 1, "rules": 1, "match": 4, "out": 1})
PROFILES: Mapping[str, OperatorProfile] = {
    "facts": OperatorProfile("facts", 0.0002),
    "rules": OperatorProfile("rules", 0.001),
    "match": OperatorProfile(
        "match",
        0.003,
        stream_service_s={"facts->match": 0.003, "rules->match": 0.02},
        input_selectivity={"match->out": {"facts->match": 0.4, "rules->match": 0.0}},
    ),
    "out": OperatorProfile("out", 0.0005),
}


def _simulated_s(facts_per_s: float, rules_per_s: float, rng: np.random.Generator) -> tuple[float, float]:
    """Mean and p95 from arrival to the end at out, of the matches."""
    last_s = 4000.0
    facts, rules = (np.sort(rng.random(rng.poisson(rate * last_s)) * last_s) for rate in (facts_per_s, rules_per_s))
    read = departures_s(facts, rng.exponential(0.0002, facts.size))
    learnt = departures_s(rules, rng.exponential(0.001, rules.size))
    at, done = rng.integers(0, 4, facts.size), np.empty(facts.size)
    for instance in range(4):
        own = np.flatnonzero(at == instance)
        arrivals = np.concatenate([read[own], learnt])
        services = np.concatenate([rng.exponential(0.003, own.size), rng.exponential(0.02, learnt.size)])
        order = np.argsort(arrivals)
        left = np.empty(arrivals.size)
        left[order] = departures_s(arrivals[order], services[order])
        done[own] = left[: own.size]
    matches = rng.random(facts.size) < 0.4
    order = np.argsort(done[matches])
    out = departures_s(done[matches][order], rng.exponential(0.0005, order.size))
    took_s = (out - facts[matches][order])[order.size // 10 :]
    return float(took_s.mean()), float(np.quantile(took_s, 0.95))


@pytest.mark.parametrize(("facts_per_s", "rules_per_s"), [(400, 20), (100, 30), (400, 2)])
def test_latency__is_of_what_leaves_and_not_of_what_comes(facts_per_s: float, rules_per_s: float) -> None:
    mean_s, p95_s = _simulated_s(facts_per_s, rules_per_s, np.random.default_rng(3))
    load = {"facts": facts_per_s, "rules": rules_per_s}
    told = evaluate(JOB, PROFILES, PLAN, load, percentiles=True)
    assert told.latency is not None
    assert (told.latency.mean_s, told.latency_s) == pytest.approx((mean_s, mean_s), rel=0.05)
    assert told.latency.p95_s == pytest.approx(p95_s, rel=0.12)
    many = evaluate_many(JOB, PROFILES, [PLAN], {name: [rate] for name, rate in load.items()})
    assert many.latency is not None
    assert many.latency.p95_s[0, 0] == pytest.approx(p95_s, rel=0.12)


@pytest.mark.parametrize("arrivals", [1.0, Arrivals(bursts=Bursts(share=0.2, factor=3, mean_s=1))])
def test_rules_that_come_late__make_no_match_late(arrivals: float | Arrivals) -> None:
    # A rule takes half a second, and is each twenty-fifth of what comes to match.
    slow = {**PROFILES, "match": replace(PROFILES["match"], stream_service_s={})}
    late = {**slow, "rules": replace(PROFILES["rules"], service_s=0.5, service_cv2=0.0)}
    load = {"facts": 100.0, "rules": 1.0}
    quick, told = (
        evaluate(JOB, each, PLAN, load, arrival_cv2=arrivals, percentiles=True).latency for each in (slow, late)
    )
    assert quick is not None
    assert told is not None
    assert told.mean_s == pytest.approx(quick.mean_s, rel=0.03)
    assert told.p99_s == pytest.approx(quick.p99_s, rel=0.05)
