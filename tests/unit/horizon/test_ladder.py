"""The capacity ladder: every step of it is the cheapest plan of some load, and carries what it is said to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology
from planner.horizon.ladder import capacity_ladder
from planner.limits import Limits
from planner.packing.flink_slots import FlinkSlots
from planner.packing.offer import Offer
from planner.plan_model import PlanModel
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing
from planner.pricing.site_prices import SitePrices
from planner.search.cheapest_plan import cheapest_plan, strongest_plan
from planner.search.remembered_plans import RememberedPlans

TOPOLOGY = Topology("join", tuple(map(Operator, "abj")), (Stream("a", "j"), Stream("b", "j")))
PROFILES = {
    "a": OperatorProfile("a", 0.001),
    "b": OperatorProfile("b", 0.002),
    "j": OperatorProfile("j", 0.02, stream_service_s={"a->j": 0.01, "b->j": 0.03}),
}


def test_plans__go_up_one_instance_at_a_time_and_have_the_running_one() -> None:
    cheapest = RememberedPlans(PlanModel(TOPOLOGY, PROFILES), Limits(max_utilisation=0.8))
    running = PhysicalPlan("join", {"a": 3, "b": 1, "j": 7})
    ladder = capacity_ladder(cheapest, [{"a": 100.0, "b": 100.0}], [running])
    # 100 a second of 10 ms and of 30 ms keep 4 instances busy, at .8 at most 5.
    assert dict(ladder.plans[-2].parallelism) == {"a": 1, "b": 1, "j": 5}
    assert ladder.number(running.parallelism) == len(ladder.plans) - 1
    assert ladder.instances.tolist() == [3, 4, 5, 6, 7, 11]


def test_capacity__is_where_the_model_says_that_a_plan_has_no_more_than_its_headroom() -> None:
    cheapest = RememberedPlans(PlanModel(TOPOLOGY, PROFILES), Limits(max_utilisation=0.8))
    ladder = capacity_ladder(cheapest, [{"a": 100.0, "b": 100.0}], [PhysicalPlan("join", {"a": 1, "b": 1, "j": 1})])
    mix = np.array([[0.5, 0.9, 0.0], [0.5, 0.1, 1.0]])
    found = ladder.capacity_per_s(mix)
    for number, plan in enumerate(ladder.plans):
        for moment in range(mix.shape[1]):
            load = dict(zip("ab", (10.0 * mix[:, moment]).tolist(), strict=True))
            told = 0.8 * evaluate(TOPOLOGY, PROFILES, plan, load).headroom_factor
            assert found[number, moment] == pytest.approx(10.0 * told)


def test_operators_that_take_no_time__carry_any_load() -> None:
    profiles = {name: OperatorProfile(name, 0.0) for name in "abj"}
    cheapest = RememberedPlans(PlanModel(TOPOLOGY, profiles), Limits(max_utilisation=0.8))
    ladder = capacity_ladder(cheapest, [{"a": 100.0, "b": 100.0}], [PhysicalPlan("join", {"a": 1, "b": 1, "j": 1})])
    assert ladder.capacity_per_s(np.array([[0.5, 1.0], [0.5, 0.0]])).tolist() == [[np.inf, np.inf]]


# A tuple of b is worked on for .032 s, one of a for .011 s.
QUICK = (
    {},
    {"max_latency_s": 0.06},
    {"max_p95_latency_s": 0.15},
    {"max_latency_s": 0.08, "max_p95_latency_s": 0.15, "price": {"j": 2.5}},
)


@pytest.mark.parametrize("bounds", QUICK)
def test_plans__are_the_same_one_by_one_and_side_by_side(bounds: dict[str, Any]) -> None:
    price = bounds.get("price", {})
    limits = Limits(0.8, max_instances=8, **{name: value for name, value in bounds.items() if name != "price"})
    loads = [{"a": rate, "b": 40.0} for rate in np.linspace(5.0, 400.0, 6).tolist()]
    plans = RememberedPlans(PlanModel(TOPOLOGY, PROFILES), limits, price=price)
    plans.work_out(loads)
    carried = 0
    for load in loads:
        alone = cheapest_plan(PlanModel(TOPOLOGY, PROFILES), load, limits, price=price)
        carried += isinstance(alone, PhysicalPlan)
        found = plans.plan(load)
        assert found == (
            alone
            if isinstance(alone, PhysicalPlan)
            else strongest_plan(PlanModel(TOPOLOGY, PROFILES), load, limits, price=price)[0]
        )
    assert 2 <= carried < len(loads)  # some are beyond 8 instances


def test_a_ladder_within_a_latency__ends_with_the_plan_that_carries_most() -> None:
    topology = Topology("one", (Operator("work"),), ())
    limits = Limits(max_utilisation=0.9, max_instances=8, max_latency_s=0.15)
    cheapest = RememberedPlans(PlanModel(topology, {"work": OperatorProfile("work", 0.1)}), limits)
    ladder = capacity_ladder(cheapest, [{"work": 200.0}], [])
    assert ladder.instances.tolist() == list(range(1, 9))
    # Poisson to each of eight M/M/1: 1 / (10 − λ) is .15 s at λ = 3.33; loads beyond 8 · 3.33 have the largest plan.
    assert cheapest.plan({"work": 150.0}) == cheapest.plan({"work": 200.0}) == ladder.plans[-1]
    plan, share, _ = strongest_plan(cheapest.model, {"work": 200.0}, limits, known=(0.1, 0.2))
    assert plan == ladder.plans[-1]
    assert share == pytest.approx(8 * 10 / 3 / 200, abs=1e-3)
    assert ladder.capacity_per_s(np.ones((1, 1)))[-1, 0] == pytest.approx(8 * 10 / 3, rel=0.05)


def in_task_managers(service_s: Mapping[str, float], cores: float, *, paid: bool = False) -> PlanModel:
    """A line of operators on task managers of two slots, whose instances share so many cores. paid: by the slot."""
    names, site = list(service_s), Site(ContainerSize(cores=cores))
    topology = Topology("line", tuple(map(Operator, names)), tuple(map(Stream, names[:-1], names[1:])))
    profiles = {name: OperatorProfile(name, seconds, cpu_s=seconds) for name, seconds in service_s.items()}
    placing = Placing(topology, profiles, {}, FlinkSlots(Offer(site, slots=2)), [names] if paid else [])
    return PlanModel(topology, profiles, site=site, placing=placing)


FRAUD = {"in": 0.0002, "parse": 0.0005, "enrich": 0.0003, "score": 0.004, "out": 0.0003}
"""Its tuples take 5.3 ms of CPU in all."""


def test_on_shared_cores__each_plan_of_a_ladder_carries_more_than_all_smaller_ones() -> None:
    model = in_task_managers(FRAUD, 2.0)
    ladder = capacity_ladder(RememberedPlans(model, Limits(1.0, max_instances=64)), [{"in": 1600.0}], [])
    assert len(ladder.plans) > 10
    assert (np.diff(ladder.instances) > 0).all()
    assert (np.diff(ladder.capacity_per_s(np.ones((1, 1)))[:, 0]) > 0).all()


def test_where_task_managers_have_prices__plans_have_an_instance_of_each_operator_in_every_slot() -> None:
    """Two slots of a task manager with two cores carry 2 / 5.3 ms = 377/s, one alone 1 / 4 ms = 250/s. The search that
    adds one instance after the other leaves slots empty, and carried 1,180/s with four task managers.
    """
    model, running = (
        in_task_managers(FRAUD, 2.0, paid=True),
        PhysicalPlan("line", {**dict.fromkeys(FRAUD, 3), "out": 1}),
    )
    assert model.placing is not None
    pricing = ContainerPricing(model.placing, SitePrices(0.4))
    cheapest = RememberedPlans(model, Limits(1.0, max_instances=64), pricing.of_instances)
    ladder = capacity_ladder(cheapest, [{"in": 1600.0}], [running], price_of=pricing.weighed_per_hour)
    levels = [plan for plan in ladder.plans if plan != running]
    assert [plan.parallelism for plan in levels] == [dict.fromkeys(FRAUD, slots) for slots in range(1, 10)]
    at = [number for number, plan in enumerate(ladder.plans) if plan != running]
    carried_per_s = ladder.capacity_per_s(np.ones((1, 1)))[at, 0]
    assert carried_per_s == pytest.approx([250.0, *(slots / 0.0053 for slots in range(2, 10))])
    assert running in ladder.plans


def test_plans_that_fill_task_managers__are_within_the_limits() -> None:
    """Three of each and two of the first are 14 instances; where 17 are allowed, others are better than none."""
    model = in_task_managers(FRAUD, 2.0, paid=True)
    assert model.placing is not None
    pricing = ContainerPricing(model.placing, SitePrices(0.4))
    limits = Limits(1.0, max_instances=17, max_parallelism={"in": 2})
    ladder = capacity_ladder(
        RememberedPlans(model, limits), [{"in": 1600.0}], [], {"out": 2}, price_of=pricing.weighed_per_hour
    )
    for plan in ladder.plans:
        assert plan.instances <= 17
        assert plan.parallelism["in"] <= 2 <= plan.parallelism["out"]
