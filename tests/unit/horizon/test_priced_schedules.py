"""Schedules where plans have prices, and changes too: one operator of a second a tuple, five minutes a step."""

from dataclasses import replace

import pytest
from horizon_cases import LIMITS, PAIR, PROFILES, START, TERMS, level, schedule_of

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from planner.errors import PlanError
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import Change, HorizonPlanner, Present
from planner.horizon.prices import DisruptionPrices
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.offer import Offer
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing, InstancePricing
from planner.pricing.site_prices import SitePrices

COSTS = {"source": InstanceCost(0.0, 0.0), "work": InstanceCost(1.0, 0.0)}
EVENING = [8.5] * 24 + [4.5] * 60


def pair(work: int) -> dict[str, int]:
    return {"source": 1, "work": work}


def by_container(cores: float, price: float = 1.0, most: int | None = None) -> tuple[ContainerPricing, Placing]:
    offer = Offer(Site(ContainerSize(cores=cores)), max_containers=most)
    placing = Placing(PAIR, PROFILES, COSTS, FirstFitDecreasing(offer))
    return ContainerPricing(placing, SitePrices(price)), placing


def test_prices_that_are_all_alike__change_nothing_but_what_is_told() -> None:
    alike = InstancePricing({name: InstanceCost(price_per_hour=0.25) for name in COSTS})
    plain, priced = schedule_of(level(EVENING), pair(9)), schedule_of(level(EVENING), pair(9), pricing=alike)
    assert [step.plan for step in priced.steps] == [step.plan for step in plain.steps]
    assert priced.cost_instance_hours == plain.cost_instance_hours
    assert priced.price == pytest.approx(0.25 * plain.cost_instance_hours)
    assert (plain.price, plain.instance_price_per_hour, priced.instance_price_per_hour) == (None, None, 0.25)


def test_instances_that_cost_next_to_nothing__are_not_worth_a_rescale() -> None:
    """5 hours of 4 instances fewer save 20 instance-hours; of a hundredth of the mean price, .2 of them."""
    cheap = InstancePricing({"source": InstanceCost(price_per_hour=1.99), "work": InstanceCost(price_per_hour=0.01)})
    assert len(schedule_of(level(EVENING), pair(9)).steps) == 1
    assert schedule_of(level(EVENING), pair(9), pricing=cheap).steps == ()


def test_a_step_that_fits_into_open_containers__costs_nothing_more() -> None:
    """Ten cores a container: 5 and 9 instances open one each."""
    pricing, placing = by_container(10.0)
    schedule = schedule_of(level([4.5] * 12 + [8.5] * 24), pair(5), pricing=pricing, placing=placing)
    (step,) = schedule.steps
    assert step.plan.parallelism["work"] >= 9
    assert (step.price_per_hour, step.more_per_hour) == (1.0, 0.0)
    # An hour at 5 and two at 9 or more, in one container: 3 of the price, however many instances it holds.
    assert schedule.price == pytest.approx(3.0, rel=0.02)
    assert step.disruption is not None
    assert (step.disruption.moved, step.disruption.containers) == (0, 1)


def test_a_container_that_stays_open__is_no_reason_to_scale_down() -> None:
    pricing, _ = by_container(10.0)
    assert schedule_of(level(EVENING), pair(9), pricing=pricing).steps == ()


def test_a_container_that_can_be_closed__is_one() -> None:
    """Five cores each: two for 9 instances, one for 5. The mean instance is half of 8 in two, .125 of a price."""
    pricing, _ = by_container(5.0)
    schedule = schedule_of(level(EVENING), pair(9), pricing=pricing)
    (step,) = schedule.steps
    assert step.plan.parallelism["work"] == 5
    assert (step.price_per_hour, step.more_per_hour) == (1.0, -1.0)
    # One container less for the last five hours.
    assert schedule.instance_price_per_hour is not None
    assert step.saved_h * schedule.instance_price_per_hour == pytest.approx(5.0, rel=0.05)


def test_a_plan_that_cannot_be_packed__is_not_turned_to_and_says_why() -> None:
    pricing, _ = by_container(4.0, most=2)
    schedule = schedule_of(level([11.0] * 48), pair(5), pricing=pricing)
    (step,) = schedule.steps
    assert step.plan.parallelism["work"] == 8
    (excuse,) = [each for each in schedule.excuses if each.target == "packing"]
    assert excuse.plan.parallelism["work"] == 9
    assert "cannot be packed" in excuse.reason
    assert "offer more or larger containers" in excuse.remedy


def test_a_running_plan_that_cannot_be_packed__is_planned_from() -> None:
    """It counts as dear as the largest that can be: 4 instances in one container cost half."""
    pricing, _ = by_container(4.0, most=2)
    (step,) = schedule_of(level([3.5] * 60), pair(12), pricing=pricing).steps
    assert step.plan.parallelism["work"] == 4
    assert (step.price_per_hour, step.more_per_hour) == (1.0, -1.0)


def test_an_edit_to_a_plan_that_cannot_be_packed__is_refused() -> None:
    pricing, _ = by_container(4.0, most=2)
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, TERMS, 1.0, pricing=pricing)
    wanted = [[Change(PhysicalPlan("pair", pair(12)), START.timestamp() + 600)]]
    with pytest.raises(PlanError, match="source 1 · work 12 cannot be packed"):
        planner.followed(level([4.5] * 24), Present(START.timestamp(), pair(5)), wanted, Budget(), 1.0)


def test_edited_changes__know_which_plans_cannot_be_packed() -> None:
    pricing, _ = by_container(4.0, most=2)
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, TERMS, 1.0, pricing=pricing)
    wanted = [[Change(PhysicalPlan("pair", pair(6)), START.timestamp() + 600)]]
    found = planner.followed(level([4.5] * 24), Present(START.timestamp(), pair(12)), wanted, Budget(), 1.0)
    assert found is not None
    assert 12 in [found[0].ladder.plans[number].parallelism["work"] for number in found[0].unpacked]


def test_instances_that_are_dear_to_start_and_stop__are_left_alone() -> None:
    # 20 instance-hours are saved; 4 instances stop, at 6 each beside the rescale.
    dear = schedule_of(level(EVENING), pair(9), disruption=DisruptionPrices(started_h=6.0))
    assert schedule_of(level(EVENING), pair(9), disruption=DisruptionPrices(started_h=1.0)).steps != ()
    assert dear.steps == ()


def test_state_that_is_dear_to_move__stays_where_it_is() -> None:
    """Of 9 to 5 instances most key groups change theirs: some 8 of 10 GiB."""
    stateful = PROFILES | {"work": replace(PROFILES["work"], state_gib=10.0)}
    cheap, dear = (
        schedule_of(level(EVENING), pair(9), profiles=stateful, disruption=DisruptionPrices(moved_gib_h=price))
        for price in (0.1, 5.0)
    )
    (step,) = cheap.steps
    assert step.disruption is not None
    assert 5.0 < step.disruption.moved_state_gib < 10.0
    assert dear.steps == ()


def test_a_p95__asks_for_more_than_the_same_bound_on_the_mean() -> None:
    """A tuple takes a second on average, exponentially: its p95 is 3 s with no wait at all."""
    bounds = replace(LIMITS, max_latency_s=3.5), replace(LIMITS, max_p95_latency_s=3.5)
    mean, p95 = (schedule_of(level([6.0] * 24), pair(7), limits=limits) for limits in bounds)
    assert p95.steps[-1].plan.parallelism["work"] > mean.steps[-1].plan.parallelism["work"] > 7


@pytest.mark.slow
def test_a_p95_out_of_reach__is_told_with_what_would_help_also_where_the_plan_is_held() -> None:
    schedule = schedule_of(level([6.0] * 24), pair(9), limits=replace(LIMITS, max_p95_latency_s=2.0))
    reasons = {excuse.target: excuse for excuse in schedule.excuses}
    assert "beyond 2" in reasons["p95 latency in s"].reason
    assert "allow more latency, or make the operators faster" in reasons["p95 latency in s"].remedy
