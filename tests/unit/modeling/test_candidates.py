"""Many proposed plans at once: probabilities by hand, the same as one by one, and what each excuse names."""

from bisect import bisect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import spearmanr

from modeling.candidates import Candidates, candidates
from modeling.evaluate import evaluate
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.rescaling.checkpoints import Checkpoints
from modeling.rescaling.plan_change import PlanChange, downtimes_s, rescale_estimate
from modeling.rescaling.rescale_model import declared_rescale
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws

PAIR = Topology("pair", (Operator("read"), Operator("count")), (Stream("read", "count"),))
PROFILES = {"read": OperatorProfile("read", 0.001), "count": OperatorProfile("count", 0.004)}
MAX_LATENCY_S = 0.06
TARGETS = Targets(max_utilisation=0.85, max_lag_s=60.0)


def pair(count: int, packing: tuple[Container, ...] = ()) -> PhysicalPlan:
    return PhysicalPlan("pair", {"read": 1, "count": count}, packing)


def judged(
    *plans: PhysicalPlan,
    rates: list[float],
    targets: Targets = TARGETS,
    site: Site = NOWHERE,
    change: PlanChange | None = None,
    backlog: Mapping[str, float] | None = None,
) -> Candidates:
    """Under steady loads of an hour."""
    loads = np.array(rates)
    paths = {"read": loads[:, None, None]}
    given = (PAIR, PROFILES, plans, {"read": loads}, paths, 3600.0, ParameterDraws(1), targets)
    return candidates(*given, site=site, change=change, backlog=backlog)


def on(first: str, second: str) -> PhysicalPlan:
    """read[0] and count[0] in a container on one node, count[1] in one on another."""
    one = Container(1, (Instance("read", 0), Instance("count", 0)), first)
    return pair(2, (one, Container(2, (Instance("count", 1),), second)))


def test_probability__of_loads_that_are_equally_likely_is_the_mean_of_theirs() -> None:
    # two instances of 4 ms carry 500/s, three 750/s; at 85 % 425 and 637.5
    found = judged(pair(2), pair(3), rates=[400.0, 450.0, 600.0])
    assert found.violations.probability["any"].tolist() == [[0, 1, 1], [0, 0, 0]]
    assert found.probability().tolist() == pytest.approx([2 / 3, 0])
    assert found.probability("throughput").tolist() == pytest.approx([1 / 3, 0])
    assert found.probability("utilisation").tolist() == pytest.approx([2 / 3, 0])
    assert found.headroom.tolist() == pytest.approx([500 / 600, 750 / 600])


def test_probability__along_paths_counts_those_that_miss_anything_in_any_step() -> None:
    # of four paths of two steps, the second passes 425/s in one step, the fourth in both
    paths = {"read": np.array([[[400, 400], [400, 430], [100, 420], [600, 600]]], dtype=float)}
    found = candidates(
        PAIR, PROFILES, [pair(2)], {"read": [500.0]}, paths, 600.0, ParameterDraws(1), Targets(max_utilisation=0.85)
    )
    assert found.probability().tolist() == [0.5]
    assert found.probability("throughput").tolist() == [0.25]
    assert found.horizon_s == 1200


def test_a_missed_target__names_the_instance_the_container_or_the_link_that_is_full() -> None:
    slow = Site(service_factor={"near": 1.0, "far": 2.0})
    # count[1] gets 150/s at 8 ms
    excuse = judged(on("near", "far"), pair(4), rates=[200.0, 300.0], site=slow).missed(0, 1)
    assert (excuse.target, excuse.operator, excuse.value) == ("throughput", "count", pytest.approx(1.2))
    assert excuse.reason == (
        "misses throughput with probability 0.5, the best with 0: at read 300/s count[1] is 120.0% full"
    )
    # container 1 computes 300 · 1 ms + 150 · 4 ms, 0.9 of 0.75 cores
    small = Site(ContainerSize(cores=0.75))
    excuse = judged(on("near", "far"), pair(4), rates=[300.0], site=small).missed(0, 1)
    assert "container 1 is 120.0% full" in excuse.reason
    assert (excuse.operator, excuse.remedy) == ("", "spread its instances over more containers, or give it more cores")
    # 150/s of 1000 bytes are 1.2 Mbit/s
    network = measured_network([MeasuredLink("near", "far", 1.0, 0.0, 1.0)], np.random.default_rng(0))
    thin = Site(network=network, bytes_per_tuple={"read->count": 1000.0})
    excuse = judged(on("near", "far"), on("near", "near"), rates=[300.0], site=thin).missed(0, 1)
    assert "network near → far is 120.0% full" in excuse.reason


def test_a_missed_target__is_that_which_makes_most_of_the_difference() -> None:
    # 450/s on two instances are 90 % of their time, on three 60 %
    excuse = judged(pair(2), pair(3), rates=[450.0]).missed(0, 1)
    assert (excuse.target, excuse.operator, excuse.bound) == ("utilisation", "count", 0.85)
    assert excuse.value == pytest.approx(0.9)
    assert "at read 450/s count is 90.0% busy of 85.0%" in excuse.reason
    # M/M/1 of 4 ms at 0.4: 95 % within 4 ms · ln 20 / 0.6 = 20 ms; nine of them at 0.04 each: 12.5 ms; read 1 ms more
    late = judged(pair(1), pair(9), rates=[100.0], targets=Targets(max_latency_s=0.017)).missed(0, 1)
    assert (late.target, late.bound, late.value) == ("latency", 0.017, pytest.approx(0.021, abs=0.001))
    assert "p95 is 0.02" in late.reason
    assert late.reason.endswith("s of 0.017 s, and count is 40.0% full")


def test_a_lag__is_told_by_how_long_it_is_too_long() -> None:
    # 600/s on 500/s: 0.2 s more each second, so that 60 s are passed after 300 s
    found = judged(pair(2), pair(3), rates=[600.0], targets=Targets(throughput=False, max_lag_s=60.0))
    excuse = found.missed(0, 1)
    assert (excuse.target, excuse.value) == ("lag", pytest.approx(3300))
    assert "the lag is above 60 s for 3300 of 3600 s, and count is 120.0% full" in excuse.reason


def test_the_change_and_the_backlog__of_each_plan_make_its_lag() -> None:
    change = PlanChange(pair(1), declared_rescale(50.0), Checkpoints(20.0, 0.0))
    lag = Targets(throughput=False, max_lag_s=62.0)
    # 100/s: 50 s down and 10 s again at 100/500 of the capacity are 52 s of work; 3000 tuples more are 6 s
    assert judged(pair(2), rates=[100.0], targets=lag, change=change).probability().tolist() == [0]
    assert judged(pair(2), rates=[100.0], targets=lag, change=change, backlog={"read": 3000.0}).probability() == 0
    assert judged(pair(2), rates=[100.0], targets=lag, change=change, backlog={"read": 5500.0}).probability() == 1
    # what runs has no downtime, but half the capacity: 5500 are 22 s of work, 16000 are 64 s
    assert judged(pair(1), rates=[100.0], targets=lag, change=change, backlog={"read": 5500.0}).probability() == 0
    assert judged(pair(1), rates=[100.0], targets=lag, change=change, backlog={"read": 16000.0}).probability() == 1


def test_downtimes__of_many_plans_are_those_of_each_alone() -> None:
    change = PlanChange(pair(1), declared_rescale(12.0, save_s_per_gib=1.0, restore_s_per_gib=3.0), with_savepoint=True)
    state = {"read": 0.0, "count": 4.0}
    several = [pair(1), pair(2), on("a", "b")]
    alone = [rescale_estimate(PAIR, state, change, plan, 1.0, 2.0).downtime_s for plan in several]
    # 12 s, and 4 GiB saved at 1 s and read at 3 s each; a packing alone moves no state
    assert downtimes_s(PAIR, state, change, several).tolist() == pytest.approx(alone) == [0, 28, 28]


def test_a_plan__that_does_not_fit_is_unknown_and_harms_no_other() -> None:
    found = judged(PhysicalPlan("pair", {"read": 1}), pair(3), rates=[300.0, 600.0])
    assert np.isnan(found.probability()[0])
    assert found.probability()[1] == 0
    assert found.estimates.excuses[0].operator == "count"


@pytest.mark.slow
def test_placements__rank_as_evaluate_alone_ranks_them() -> None:
    """40 placements, 16 loads that only grow, so that evaluate is asked for the first that misses by halving; p95 by
    whole distributions there.
    """
    topology = Topology(
        "trio",
        (Operator("read"), Operator("count"), Operator("store")),
        (Stream("read", "count", Grouping.FIELDS), Stream("count", "store")),
    )
    profiles = {
        "read": OperatorProfile("read", 0.001, service_s_error=0.0001),
        "count": OperatorProfile("count", 0.004, service_s_error=0.0004),
        "store": OperatorProfile("store", 0.002, service_s_error=0.0002),
    }
    links = [MeasuredLink(a, b, 15.0, 1.0, 10.0) for a, b in ("xy", "yz", "xz")]
    site = Site(
        ContainerSize(cores=1.2),
        {"x": 1.0, "y": 1.4, "z": 1.8},
        measured_network(links, np.random.default_rng(0)),
        {"read->count": 500.0, "count->store": 500.0},
    )
    plans = _placements({"read": 1, "count": 3, "store": 2}, 40)
    targets = Targets(max_utilisation=0.85, max_lag_s=60.0, max_latency_s=MAX_LATENCY_S)
    rates = np.linspace(30.0, 405.0, 16)
    draws = parameter_draws(profiles, np.random.default_rng(2), 1)
    given = (topology, profiles, plans, {"read": rates}, {"read": rates[:, None, None]}, 3600.0, draws, targets)
    at_once = candidates(*given, site=site).probability()
    drawn = {
        name: replace(each, service_s=each.service_s * float(draws.parameters.service_factor[name][0]))
        for name, each in profiles.items()
    }

    def misses(plan: PhysicalPlan, rate: float) -> bool:
        told = evaluate(topology, drawn, plan, {"read": rate}, site=site)
        if not told.stable or told.utilisation > 0.85:
            return True
        latency = evaluate(topology, drawn, plan, {"read": rate}, site=site, percentiles=True).latency
        return latency is not None and latency.p95_s > MAX_LATENCY_S

    alone = [16 - bisect(rates.tolist(), False, key=partial(misses, plan)) for plan in plans]
    assert len(set(alone)) > 5
    assert spearmanr(at_once, alone).statistic >= 0.95


def _placements(parallelism: Mapping[str, int], count: int) -> list[PhysicalPlan]:
    """At random over three containers on nodes of their own."""
    rng = np.random.default_rng(5)
    instances = [Instance(name, at) for name, each in parallelism.items() for at in range(each)]
    plans = []
    for _ in range(count):
        spots = rng.integers(3, size=len(instances))
        packing = tuple(
            Container(at, tuple(each for each, spot in zip(instances, spots, strict=True) if spot == at), "xyz"[at])
            for at in range(3)
        )
        plans.append(PhysicalPlan("trio", parallelism, packing))
    return plans
