"""A plan has the capacity that `evaluate` gives it as packed, wherever it is asked for."""

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.excuse import Excuse
from modeling.flow.limits import ContainerLimit
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.horizon.ladder import capacity_ladder, ladder_of
from planner.limits import Limits
from planner.packing.flink_slots import FlinkSlots
from planner.packing.offer import Offer
from planner.packing.resource_compliant import ResourceCompliant
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.search.cheapest_plan import cheapest_plan, strongest_plan
from planner.search.remembered_plans import RememberedPlans

PAIR = Topology("pair", (Operator("in"), Operator("work")), (Stream("in", "work"),))
PROFILES = {"in": OperatorProfile("in", 0.001, cpu_s=0.001), "work": OperatorProfile("work", 0.1, cpu_s=0.1)}
SLOW = Site(service_factor={"old": 2.0})
"""Every node is twice as slow as the one of the measurement."""
LIMITS = Limits(max_utilisation=0.8, max_instances=40)


def on_old_nodes() -> PlanModel:
    offer = Offer(site=SLOW, nodes={"old": None}, max_instances=4)
    costs = {name: InstanceCost(cores=0.1, memory_mib=1.0) for name in PAIR.order}
    return PlanModel(PAIR, PROFILES, site=SLOW, placing=Placing(PAIR, PROFILES, costs, ResourceCompliant(offer)))


def in_slots(cores: float) -> PlanModel:
    """Flink: a task manager of two slots, each with an instance of both operators, and so many cores."""
    site = Site(ContainerSize(cores=cores))
    return PlanModel(PAIR, PROFILES, site=site, placing=Placing(PAIR, PROFILES, {}, FlinkSlots(Offer(site, slots=2))))


def test_cheapest_plan__needs_twice_as_many_instances_on_nodes_twice_as_slow() -> None:
    # 16/s of 0.1 s are 1.6 busy instances, 2 at 80 %; on the old nodes 3.2, which 4 carry at 80 %.
    load = {"in": 16.0}
    bare, placed = cheapest_plan(PlanModel(PAIR, PROFILES), load, LIMITS), cheapest_plan(on_old_nodes(), load, LIMITS)
    assert isinstance(bare, PhysicalPlan)
    assert isinstance(placed, PhysicalPlan)
    assert bare.parallelism == {"in": 1, "work": 2}
    assert placed.parallelism == {"in": 1, "work": 4}


def test_ladder__carries_half_as_much_on_nodes_twice_as_slow() -> None:
    ladder = ladder_of([PhysicalPlan("pair", {"in": 1, "work": 4})], on_old_nodes())
    # 4 instances of 0.2 s a tuple
    assert ladder.capacity_per_s(np.ones((1, 1)))[0, 0] == pytest.approx(20.0)


def test_the_cores_of_a_container__limit_a_plan_before_its_instances() -> None:
    # Two slots carry 20/s, each tuple takes 0.001 + 0.1 s of CPU: half a core carries 0.5 / 0.101 = 4.95/s.
    model, plan = in_slots(0.5), PhysicalPlan("pair", {"in": 2, "work": 2})
    estimate = model.estimate(plan, {"in": 1.0})
    assert estimate.bottleneck == ContainerLimit(1)
    assert estimate.mst_per_s["in"] == pytest.approx(0.5 / 0.101)
    assert estimate.bottleneck_text == "container 1: 0.5 of 0.5 cores"
    assert ladder_of([plan], model).capacity_per_s(np.ones((1, 1)))[0, 0] == pytest.approx(0.5 / 0.101)
    assert model.capacity_per_s(plan, {"in": 3.0}) == pytest.approx(0.5 / 0.101)


def test_cheapest_plan__spreads_over_more_containers_where_one_has_too_few_cores() -> None:
    # 8/s of 0.101 s take 0.81 cores, and a container of half a core gives 0.4 at 80 %: two are not enough.
    plan = cheapest_plan(in_slots(0.5), {"in": 8.0}, LIMITS)
    assert isinstance(plan, PhysicalPlan)
    estimate = in_slots(0.5).estimate(plan, {"in": 8.0})
    assert len(in_slots(0.5).packed(plan).packing) == 3
    assert estimate.headroom_factor >= 1 / 0.8 - 1e-9


def test_a_load_beyond_every_packed_plan__names_the_container_and_the_largest_share_is_found() -> None:
    few = Limits(max_utilisation=0.8, max_instances=8)
    # Four slots of both operators fill two containers of half a core: 0.8 · 2 · 0.5 / 0.101 = 7.92/s.
    excuse = cheapest_plan(in_slots(0.5), {"in": 16.0}, few)
    assert isinstance(excuse, Excuse)
    assert "container" in str(excuse)
    plan, share, _ = strongest_plan(in_slots(0.5), {"in": 16.0}, few)
    assert in_slots(0.5).capacity_per_s(plan, {"in": 1.0}) * 0.8 >= 16.0 * share * (1 - 1e-9)


def test_a_hot_key__bounds_search_and_ladder_as_it_bounds_evaluate() -> None:
    # 39 % of the tuples have one key: however many instances, it comes to 1 / (0.39 · 2.14 s) = 1.2/s.
    topology = Topology("t", (Operator("in"), Operator("join", 8)), (Stream("in", "join", Grouping.FIELDS),))
    keys = KeyHistogram({"hot": 0.39, **{f"k{at}": 0.61 / 200 for at in range(200)}})
    profiles = {"in": OperatorProfile("in", 1e-4), "join": OperatorProfile("join", 1 / (0.39 * 1.2), keys=keys)}
    model = PlanModel(topology, profiles)
    plan = PhysicalPlan("t", {"in": 1, "join": 4})
    true = evaluate(topology, profiles, plan, {"in": 1.0}).mst_per_s["in"]
    assert true <= 1.2
    ladder = ladder_of([plan], model)
    assert ladder.capacity_per_s(np.ones((1, 1)))[0, 0] == pytest.approx(true)
    excuse = cheapest_plan(model, {"in": 1.3}, Limits(max_utilisation=0.999))
    assert isinstance(excuse, Excuse)
    assert excuse.change == {}
    assert "heaviest key" in excuse.remedy


def test_plans_that_cannot_be_packed__are_told_and_keep_their_parallelism() -> None:
    site = Site(ContainerSize(cores=4.0))
    offer = Offer(site, slots=2, max_containers=1)
    model = PlanModel(PAIR, PROFILES, site=site, placing=Placing(PAIR, PROFILES, {}, FlinkSlots(offer)))
    assert model.unpacked_because({"in": 1, "work": 2}) is None
    assert "slots are needed" in str(model.unpacked_because({"in": 1, "work": 3}))
    plan = PhysicalPlan("pair", {"in": 1, "work": 3})
    assert model.packed(plan) == plan
    ladder = capacity_ladder(RememberedPlans(model, LIMITS), [{"in": 30.0}], [])
    assert any(model.unpacked_because(each.parallelism) is None for each in ladder.plans)


def test_cheapest_plan__fills_another_container_though_that_takes_several_operators_at_once() -> None:
    """At 20/s of 3 · 0.03 s four slots use 1.8 cores, of 1. More of one operator leaves the others there: 22 of x leave
    (0.03 · 4/22 + 0.06) · 20 = 1.3. Eight of each are two containers of 0.9.
    """
    line = Topology("line", tuple(map(Operator, ("in", *"xyz"))), tuple(map(Stream, ("in", *"xy"), "xyz")))
    profiles = {name: OperatorProfile(name, 0.0 if name == "in" else 0.03) for name in line.order}
    site = Site(ContainerSize(cores=1.0))
    model = PlanModel(line, profiles, site=site, placing=Placing(line, profiles, {}, FlinkSlots(Offer(site, slots=4))))
    plan = cheapest_plan(model, {"in": 20.0}, Limits(max_utilisation=1.0, max_instances=25))
    assert isinstance(plan, PhysicalPlan)
    assert len(model.packed(plan).packing) == 2
    assert model.estimate(plan, {"in": 20.0}).utilisation <= 1


def test_how_busy_instances_are__is_the_same_with_and_without_latencies() -> None:
    model, plan, load = in_slots(2.0), PhysicalPlan("pair", {"in": 2, "work": 3}), {"in": 20.0}
    operators = model.estimate(plan, load).operators
    assert {name: of.tolist() for name, of in model.busy(plan, load).items()} == {
        name: of.instance_utilisation.tolist() for name, of in operators.items()
    }


def test_the_search_as_packed__asks_of_no_plan_twice(asked: list[tuple[int, ...]]) -> None:
    """No number of instances carries 100/s · 0.1 s on two task managers of a core: the search tries larger and larger
    steps, which all end at the eight instances that are allowed.
    """
    assert in_slots(1.0).raised({"in": 1, "work": 1}, {"in": 100.0}, {"in": 4, "work": 4}, 8) is None
    assert len(asked) == len(set(asked)) > 0
