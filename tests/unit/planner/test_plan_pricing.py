"""What plans cost for an hour: by their instances, or by the containers and nodes that a packing of them opens."""

from dataclasses import replace

import pytest

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.errors import PlanError
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.flink_slots import FlinkSlots
from planner.packing.network_aware import NetworkAware
from planner.packing.offer import Offer
from planner.packing.packer import Packer
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing, InstancePricing
from planner.pricing.site_prices import SitePrices

PAIR = Topology("pair", (Operator("read"), Operator("work", 20)), (Stream("read", "work"),))
PROFILES = {"read": OperatorProfile("read", 1e-6), "work": OperatorProfile("work", 1.0, state_gib=4.0)}
COSTS = {"read": InstanceCost(1.0, 500.0), "work": InstanceCost(1.0, 1000.0)}
FOUR_CORES = Offer(Site(ContainerSize(cores=4.0)))


def placing(packer: Packer) -> Placing:
    return Placing(PAIR, PROFILES, COSTS, packer)


def plan(work: int, read: int = 1) -> dict[str, int]:
    return {"read": read, "work": work}


def test_instances__cost_what_each_of_them_costs() -> None:
    pricing = InstancePricing({"read": InstanceCost(price_per_hour=0.1), "work": InstanceCost(price_per_hour=0.5)})
    assert pricing.per_hour(plan(work=6, read=2)) == pytest.approx(2 * 0.1 + 6 * 0.5)
    # As many of each operator: the mean of both.
    assert pricing.instance_per_hour == pytest.approx(0.3)


def test_an_operator_without_a_price__is_named() -> None:
    with pytest.raises(PlanError, match="the price of an instance of work is not known; declare price_per_hour"):
        InstancePricing({"read": InstanceCost(price_per_hour=0.1), "work": InstanceCost()})


def test_prices_that_are_all_nothing__are_refused() -> None:
    with pytest.raises(PlanError, match="every price_per_hour is 0; give one above 0, or leave all out"):
        InstancePricing({"read": InstanceCost(price_per_hour=0.0)})


def test_containers__cost_nothing_more_for_what_fits_into_those_that_are_open() -> None:
    pricing = ContainerPricing(placing(FirstFitDecreasing(FOUR_CORES)), SitePrices(2.0))
    # Instances of a core each, 4 to a container.
    assert [pricing.per_hour(plan(work)) for work in (1, 3, 4, 7, 8)] == [2.0, 2.0, 4.0, 4.0, 6.0]
    # 16 instances, 8 of each, fill 4 containers of 2 each.
    assert pricing.instance_per_hour == pytest.approx(8.0 / 16)


def test_nodes__cost_once_however_many_containers_they_hold() -> None:
    containers = tuple(Container(at, (Instance("work", at),), node) for at, node in enumerate("aab"))
    prices = SitePrices(0.5, {"a": 3.0, "b": 1.0, "c": 9.0})
    assert prices.per_hour(containers) == pytest.approx(3 * 0.5 + 3.0 + 1.0)


def test_slots_that_operators_share__are_paid_for_once() -> None:
    pricing = ContainerPricing(placing(FlinkSlots(Offer(slots=2))), SitePrices(1.0))
    # A slot holds one instance of each operator: 4 of both need 4 slots, two task managers.
    assert pricing.per_hour(plan(work=4, read=4)) == pricing.per_hour(plan(work=4)) == 2.0


def test_a_plan_beyond_all_containers__is_refused_each_time_it_is_asked_for() -> None:
    pricing = ContainerPricing(placing(FirstFitDecreasing(replace(FOUR_CORES, max_containers=2))), SitePrices(1.0))
    for _ in range(2):
        with pytest.raises(PlanError, match="container"):
            pricing.per_hour(plan(work=9))
    # 8 of each do not fit, nor do 8 in all but 4 of each.
    assert pricing.instance_per_hour == pytest.approx(2.0 / 8)


def test_containers_too_small_for_any_plan__are_an_error() -> None:
    with pytest.raises(PlanError, match="cores"):
        ContainerPricing(placing(FirstFitDecreasing(Offer(Site(ContainerSize(cores=0.5))))), SitePrices(1.0))


def test_a_node_without_a_price__is_named_where_others_have_one() -> None:
    with pytest.raises(PlanError, match="node b has no price, and a have; give it a price_per_hour"):
        SitePrices(None, {"a": 1.0}).check(["a", "b"])
    SitePrices(1.0).check(["a", "b"])


def test_packers_that_look_at_traffic__are_given_what_a_tuple_a_second_makes_of_streams() -> None:
    offer = Offer(Site(ContainerSize(cores=4.0)), nodes={"a": None, "b": None})
    packed = placing(NetworkAware(offer)).pack(plan(work=3))
    assert sum(len(container.instances) for container in packed) == 4


def test_state_in_memory__is_shared_by_the_instances_of_a_plan() -> None:
    """4 GiB over 2 instances and over 8: 2 GiB and 500 MiB each beside 100 MiB, in containers of 2300 MiB."""
    costs = {"read": InstanceCost(0.0, 0.0), "work": InstanceCost(0.0, 100.0, 4000.0)}
    offer = Offer(Site(ContainerSize(memory_mib=2300.0)))
    packs = Placing(PAIR, PROFILES, costs, FirstFitDecreasing(offer))
    # 2100 MiB each: one to a container; 600 MiB each: three.
    assert len(packs.pack(plan(work=2))) == 2
    assert len(packs.pack(plan(work=8))) == 3


def test_an_operator_of_fixed_parallelism__keeps_it_in_the_mean_instance() -> None:
    # Eight of the one and two of the other fill four task managers of two slots: 4 / 10 an instance.
    fixed = Stream("read", "work", Grouping.CUSTOM, shares=(0.5, 0.5))
    topology = Topology("fixed", (Operator("read"), Operator("work")), (fixed,))
    profiles = {name: OperatorProfile(name, 0.01) for name in topology.order}
    pricing = ContainerPricing(Placing(topology, profiles, {}, FlinkSlots(Offer(slots=2))), SitePrices(1.0))
    assert pricing.instance_per_hour == pytest.approx(0.4)


def test_of_plans_that_cost_the_same__the_one_with_fewer_slots_weighs_less() -> None:
    """16 slots a task manager: a plan of 8 and one of 3 cost 1 an hour; each slot weighs .02 / 16 of it."""
    pricing = ContainerPricing(placing(FlinkSlots(Offer(slots=16))), SitePrices(1.0))
    assert pricing.instance_per_hour == pytest.approx(1 / 16)
    assert [pricing.per_hour(plan(work=count)) for count in (3, 8, 17)] == [1.0, 1.0, 2.0]
    weighed = [pricing.weighed_per_hour(plan(work=count)) for count in (3, 8, 17)]
    assert weighed == pytest.approx([1 + 3 * 0.02 / 16, 1 + 8 * 0.02 / 16, 2 + 17 * 0.02 / 16])
