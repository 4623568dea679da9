"""Plans of operators that share slots: even ones, others where max_instances leaves no choice, and excuses."""

from collections.abc import Sequence

import pytest

from modeling.excuse import Excuse
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology
from planner.limits import Limits
from planner.packing.flink_slots import FlinkSlots
from planner.packing.offer import Offer
from planner.plan_model import PlanModel
from planner.pricing.placing import Placing
from planner.search.cheapest_plan import cheapest_plan, strongest_plan

PAIR = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
PROFILES = {"a": OperatorProfile("a", 0.09), "b": OperatorProfile("b", 0.01)}
LOAD = {"a": 60.0}
"""Keeps 5.4 cores busy with a and .6 with b."""


def in_slots(slots: int = 1, cores: float = 1.0, *, groups: Sequence[Sequence[str]] = (("a", "b"),)) -> PlanModel:
    """Flink: task managers of so many slots and cores, paid as a whole."""
    site = Site(ContainerSize(cores=cores))
    offer = Offer(site, slots=slots, slot_groups={name: str(at) for at, names in enumerate(groups) for name in names})
    return PlanModel(PAIR, PROFILES, site=site, placing=Placing(PAIR, PROFILES, {}, FlinkSlots(offer), groups))


def half_full(max_instances: int) -> Limits:
    return Limits(max_utilisation=0.5, max_instances=max_instances)


def plan_within(max_instances: int) -> PhysicalPlan | Excuse:
    return cheapest_plan(in_slots(), LOAD, half_full(max_instances))


def test_plans__are_even_where_max_instances_allows_it() -> None:
    """n slots of a core have (5.4 + .6) / n: half of one with 12, which are 24 instances."""
    for most in (24, 64):
        plan = plan_within(most)
        assert isinstance(plan, PhysicalPlan)
        assert plan.parallelism == {"a": 12, "b": 12}


@pytest.mark.parametrize(
    ("most", "parallelism"),
    [
        # The first slot has 5.4 / a + .6 / b: 13 and 8 of .415 + .075 = .49, but 12 and 11 of .45 + .055 = .505.
        (23, {"a": 13, "b": 8}),
        # 14 and 6: .386 + .1 = .486; 13 and 7: .415 + .086 = .501
        (20, {"a": 14, "b": 6}),
    ],
)
def test_plans_for_which_max_instances_is_too_low_to_be_even__have_as_few_slots_as_carry_the_load(
    most: int, parallelism: dict[str, int]
) -> None:
    plan = plan_within(most)
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == parallelism


def test_plans_that_are_not_even__use_no_more_task_managers_than_there_are() -> None:
    """Of 22 instances 16 and 6 have the least work in a slot, but there are 14 task managers: 13 and 8 as above."""
    site = Site(ContainerSize(cores=1.0))
    few = FlinkSlots(Offer(site, max_containers=14))
    model = PlanModel(PAIR, PROFILES, site=site, placing=Placing(PAIR, PROFILES, {}, few, [PAIR.order]))
    plan = cheapest_plan(model, LOAD, half_full(22))
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == {"a": 13, "b": 8}


def test_an_excuse__names_max_instances_of_the_even_plan() -> None:
    """Of 19 instances the best are 14 and 5: .386 + .12 = .506 of a core."""
    excuse = plan_within(19)
    assert isinstance(excuse, Excuse)
    assert excuse.value == pytest.approx(5.4 / 14 + 0.6 / 5)
    assert excuse.remedy == "raise max_instances to 24, or plan for a lower quantile"


def test_an_excuse__names_enough_instances_where_the_operators_alone_need_too_many() -> None:
    """At half of an instance a needs 11 and b 2; 13 of them are too few as packed."""
    excuse = plan_within(12)
    assert isinstance(excuse, Excuse)
    assert str(excuse) == "instances 24 of the whole plan is beyond 12; raise max_instances to 24, or " + (
        "plan for a lower quantile"
    )


def test_an_excuse__does_not_name_max_instances_where_more_do_not_help() -> None:
    """A container of .01 cores takes .01 / .09 = .11/s of one instance of a, and there are at most 128."""
    excuse = cheapest_plan(in_slots(cores=0.01), LOAD, half_full(64))
    assert isinstance(excuse, Excuse)
    assert "max_instances" not in str(excuse)
    assert "container" in str(excuse)


def test_groups_of_slots__have_as_many_instances_as_their_work_asks_for() -> None:
    """Apart, a and b have slots of their own: 11 of .49 of a core, and 2 of .3."""
    plan = cheapest_plan(in_slots(groups=(("a",), ("b",))), LOAD, half_full(13))
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == {"a": 11, "b": 2}


def test_plans_for_a_latency__are_even_up_to_max_instances() -> None:
    """1 / (1 / .09 - 60 / n) + 1 / (100 - 60 / n) s with n of each: .21 with 10, .24 with 9, and .91 with 6, where the
    search begins. The 12 that are tried next are more than allowed.
    """
    limits = Limits(max_utilisation=0.95, max_instances=20, max_latency_s=0.22)
    plan = cheapest_plan(in_slots(cores=100.0), LOAD, limits)
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == {"a": 10, "b": 10}


def test_the_search_for_slots__asks_of_few_plans(asked: list[tuple[int, ...]]) -> None:
    """128 instances carry 64 · .5 / .1 = 320/s evenly. At best a slot has (√.09 + √.01)² / 128 = .16 / 128 cores of a
    tuple per second: half a core is 400/s.
    """
    assert isinstance(cheapest_plan(in_slots(), {"a": 500.0}, half_full(128)), Excuse)
    assert 0 < len(asked) <= 16
    plan, share, _ = strongest_plan(in_slots(), {"a": 500.0}, half_full(128))
    assert plan.instances <= 128
    assert share == pytest.approx(400.0 / 500.0, rel=0.01)
