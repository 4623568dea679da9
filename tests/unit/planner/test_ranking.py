"""The order of candidates, and the sentence that says why each is not the first."""

import numpy as np
import pytest

from modeling.candidates import Candidates, candidates
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.instance_changes import InstanceChanges
from modeling.uncertainty.parameter_draws import ParameterDraws
from planner.errors import PlanError
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.site_prices import SitePrices
from planner.ranking import RankedPlan, ranked

PAIR = Topology("pair", (Operator("read"), Operator("count")), (Stream("read", "count"),))
PROFILES = {"read": OperatorProfile("read", 0.001), "count": OperatorProfile("count", 0.004)}
TWO_SPEEDS = Site(service_factor={"near": 1.0, "far": 2.0})


def pair(count: int, read: int = 1, packing: tuple[Container, ...] = ()) -> PhysicalPlan:
    return PhysicalPlan("pair", {"read": read, "count": count}, packing)


def on(*nodes: str) -> PhysicalPlan:
    """read and each instance of count in a container of its own, on these nodes."""
    instances = [Instance("read", 0), *(Instance("count", at) for at in range(len(nodes) - 1))]
    packing = tuple(Container(at, (each,), node) for at, (each, node) in enumerate(zip(instances, nodes, strict=True)))
    return pair(len(nodes) - 1, packing=packing)


def judged(*plans: PhysicalPlan, rate: float, site: Site | None = None) -> Candidates:
    load, paths = {"read": np.array([rate])}, {"read": np.array([[[rate]]])}
    given = (PAIR, PROFILES, plans, load, paths, 3600.0, ParameterDraws(1), Targets(max_utilisation=0.85))
    return candidates(*given, site=site or Site())


def order(found: tuple[RankedPlan, ...]) -> list[int]:
    return [one.number for one in found]


def reason(one: RankedPlan) -> str:
    assert one.excuse is not None
    return one.excuse.reason


def test_plans_that_hold_their_targets__go_by_cost_and_say_by_how_much_they_are_dearer() -> None:
    # 400/s: 0.8 of two instances; one is not enough
    first, second, third = ranked(judged(pair(3), pair(1), pair(2), rate=400.0), {})
    assert order((first, second, third)) == [2, 0, 1]
    assert first.excuse is None
    assert second.excuse is not None
    assert (second.excuse.target, second.excuse.value, second.excuse.bound) == ("cost", 4, 3)
    assert reason(second) == (
        "misses its targets with probability 0, as the best does, and costs 4 instances where the best costs 3 (+33.3%)"
    )
    assert "misses throughput with probability 1, the best with 0: at read 400/s count is 160.0% full" in reason(third)


@pytest.mark.parametrize(
    ("read", "count", "best", "told"),
    [
        # 1 + 3 · 2 = 3 + 2 · 2 = 7 an hour: cores are not asked then, and 750/s are more than 500/s
        (InstanceCost(0.1, price_per_hour=1.0), InstanceCost(9.0, price_per_hour=2.0), 0, "carries 5 times the load"),
        # 1 + 3 · 3 = 10, 3 + 2 · 3 = 9 an hour
        (
            InstanceCost(price_per_hour=1.0),
            InstanceCost(price_per_hour=3.0),
            1,
            "costs 10 an hour where the best costs 9 ",
        ),
        # 1 · 2 + 3 · 1 = 5, 3 · 2 + 2 · 1 = 8 cores
        (InstanceCost(cores=2.0), InstanceCost(cores=1.0), 0, "costs 8 cores where the best costs 5 (+60.0%)"),
        # 0.5 + 3 = 1.5 + 2 cores: memory decides, 1 + 3 · 4 = 13, 3 + 2 · 4 = 11 GiB
        (InstanceCost(0.5, 1024), InstanceCost(1.0, 4096), 1, "costs 13 GiB of memory where the best costs 11 "),
        # no price of one operator, no sum: 4 and 5 instances
        (InstanceCost(price_per_hour=9.0), InstanceCost(), 0, "costs 5 instances where the best costs 4"),
    ],
)
def test_cost__is_the_price_else_cores_and_memory_else_instances(
    read: InstanceCost, count: InstanceCost, best: int, told: str
) -> None:
    found = ranked(judged(pair(3), pair(2, read=3), rate=100.0), {"read": read, "count": count})
    assert found[0].number == best
    assert told in reason(found[1])


def test_of_the_same_cost__less_disruption_wins_and_then_more_headroom() -> None:
    running, moved = on("near", "far", "far"), on("near", "near", "far")
    candidate = judged(moved, running, rate=100.0, site=TWO_SPEEDS)
    # both are full where an instance of count is far, at 250/s
    first, second = ranked(candidate, {}, running)
    assert order((first, second)) == [1, 0]
    assert second.change == InstanceChanges(0, 0, 1)
    assert reason(second).endswith("at the same cost changes more: 0 started, 0 stopped, 1 moved, the best 0 started, "
                                   "0 stopped, 0 moved")  # fmt: skip
    near = on("near", "near", "near")
    # 100/s: 500 / 100 and 250 / 100
    first, second = ranked(judged(moved, near, rate=100.0, site=TWO_SPEEDS), {})
    assert order((first, second)) == [1, 0]
    assert reason(second).endswith("at the same cost carries 2.5 times the load where the best carries 5")
    first, second = ranked(judged(running, moved, rate=100.0, site=TWO_SPEEDS), {})
    assert order((first, second)) == [0, 1]
    assert reason(second).endswith("comes later in the list")


def test_where_all_miss_for_certain__the_one_that_carries_most_is_first_whatever_it_costs() -> None:
    # of 1000/s four instances of 4 ms in all carry all, three 750, one 250
    first, second = ranked(judged(pair(1), pair(3), rate=1000.0), {})
    assert (first.number, first.probability) == (1, 1)
    assert reason(second) == (
        "misses its targets for certain, as the best does, and carries 0.25 times the load where the best carries 0.75"
    )


def test_a_plan_of_no_such_topology__is_last_with_its_own_excuse() -> None:
    found = ranked(judged(PhysicalPlan("trio", {"read": 1}), pair(1), rate=1000.0), {})
    assert order(found) == [1, 0]
    assert "plan of topology 'trio' is none of 'pair'" in reason(found[1])


def test_plans_in_priced_containers__go_by_what_these_cost() -> None:
    # Containers of .2 an hour, nodes of .5 and .3: three on both nodes cost 3 · .2 + .8 = 1.4, two on one 2 · .2 + .5.
    prices = SitePrices(0.2, {"near": 0.5, "far": 0.3})
    both, one = on("near", "far", "far"), on("near", "near")
    first, second = ranked(judged(both, one, rate=100.0), {}, prices=prices)
    assert (first.number, second.number) == (1, 0)
    assert [first.cost.price, second.cost.price] == pytest.approx([0.9, 1.4])
    assert reason(second).endswith("costs 1.4 an hour where the best costs 0.9 (+55.6%)")
    assert second.excuse is not None
    assert second.excuse.remedy == "use fewer or cheaper containers as far as the targets allow"


def test_node_without_a_price_beside_others__is_refused() -> None:
    with pytest.raises(PlanError, match="node far has no price, and near have"):
        ranked(judged(on("near", "far"), on("near", "near"), rate=100.0), {}, prices=SitePrices(0.2, {"near": 0.5}))
