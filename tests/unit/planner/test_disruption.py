"""What changes of plan disrupt: instances, containers, key groups and state."""

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Engine, Operator, Stream, Topology
from planner.disruption import disruptions
from planner.packing.even_spread import EvenSpread
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.offer import Offer
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.scaling_schedule import Disruption

PAIR = Topology("pair", (Operator("read"), Operator("work", 128)), (Stream("read", "work"),))
PROFILES = {"read": OperatorProfile("read", 1e-6), "work": OperatorProfile("work", 1.0, state_gib=8.0)}
COSTS = {"read": InstanceCost(1.0, 1.0), "work": InstanceCost(1.0, 1.0)}
OFFER = Offer(Site(ContainerSize(cores=4.0)), containers=3)


def plans(*work: int) -> list[PhysicalPlan]:
    return [PhysicalPlan("pair", {"read": 1, "work": count}) for count in work]


def test_a_doubling__moves_three_quarters_of_the_key_groups_and_their_state() -> None:
    # 2 → 4 instances: only the first quarter of the 128 key groups stays with instance 0.
    (found,) = disruptions(plans(2, 4), PAIR, PROFILES)
    assert found == Disruption(2, 0, None, 96, 6.0, None)
    assert str(found) == "2 started, 0 stopped; 96 key groups with 6 GiB change their instance"


def test_engines_that_keep_no_keyed_state__move_none() -> None:
    storm = Topology("pair", PAIR.operators, PAIR.streams, Engine.STORM)
    (found,) = disruptions(plans(2, 4), storm, PROFILES)
    assert (found.started, found.moved_key_groups, found.moved_state_gib) == (2, 0, 0.0)


def test_survivors__stay_in_their_containers_from_change_to_change() -> None:
    placing = Placing(PAIR, PROFILES, COSTS, FirstFitDecreasing(Offer(Site(ContainerSize(cores=4.0)))))
    # 3, 6 and 3 instances of a core each, beside the one that reads.
    found = disruptions(plans(3, 6, 3), PAIR, PROFILES, placing)
    assert [(each.started, each.stopped, each.moved, each.containers) for each in found] == [(3, 0, 0, 2), (0, 3, 0, 1)]


def test_an_engine_that_deals_all_anew__moves_instances() -> None:
    """Executors in turn over 3 workers, read first: work 0, 1, 2 on workers 2, 3, 1; then work 1 and 2 stay as it is 4,
    and in turn again they do not as workers hold others.
    """
    placing = Placing(PAIR, PROFILES, COSTS, EvenSpread(OFFER))
    (found,) = disruptions(plans(3, 4), PAIR, PROFILES, placing)
    assert found.moved is not None
    assert found.containers == 3


def test_plans_that_cannot_be_packed__tell_nothing_of_containers() -> None:
    offer = Offer(Site(ContainerSize(cores=4.0)), max_containers=1)
    placing = Placing(PAIR, PROFILES, COSTS, FirstFitDecreasing(offer))
    (found,) = disruptions(plans(3, 6), PAIR, PROFILES, placing)
    assert (found.started, found.moved, found.containers) == (3, None, None)
