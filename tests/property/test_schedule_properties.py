"""Properties of every schedule."""

import numpy as np
import pytest
from horizon_cases import PAIR, PROFILES, START, forecast_of, schedule_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modeling.inputs.physical_plan import PhysicalPlan
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel
from planner.scaling_schedule import ScalingSchedule
from planner.search.cheapest_plan import cheapest_plan

LIMITS = Limits(max_utilisation=FULL, max_instances=40)
HEADROOM = Headroom.of(LIMITS, 0.95)
LOADS = st.lists(st.floats(0.05, 25), min_size=4, max_size=12)


def schedule_for(rates: list[float], work: int, allowed_share: float = 0.005) -> ScalingSchedule:
    """Half an hour at each rate, on ten paths from four fifths of it to six fifths."""
    paths = np.outer(np.linspace(0.8, 1.2, 10), np.repeat(rates, 6))
    return schedule_of(
        {"source": forecast_of(paths, 300)},
        {"source": 1, "work": work},
        limits=LIMITS,
        budget=Budget(allowed_share),
        headroom=HEADROOM,
    )


@pytest.mark.slow
@settings(max_examples=30)
@given(LOADS, st.integers(1, 12))
def test_steps__are_in_order_chained_and_never_in_the_past(rates: list[float], work: int) -> None:
    schedule = schedule_for(rates, work)
    before, moment = schedule.current, START
    for step in schedule.steps:
        assert step.deploy_at >= moment
        assert step.replaces == before
        assert not step.plan.same_parallelism(before)
        assert step.deploy_at < step.in_place_at
        assert step.needed_from <= step.needed_until <= schedule.end
        before, moment = step.plan, step.deploy_at


@pytest.mark.slow
@settings(max_examples=30)
@given(LOADS, st.integers(1, 12))
@example([3.0, 5.0, 3.0, 6.0], 2)
@example([20.71875, 18.125, 20.75, 0.5], 1)
def test_every_step__lessens_what_is_missed_saves_instances_or_relieves_a_plan_that_is_too_busy(
    rates: list[float], work: int
) -> None:
    schedule = schedule_for(rates, work)
    for step in schedule.steps:
        assert step.violation_minutes_without > schedule.violation_minutes or step.saved_h > 0 or step.relieves
    hold = schedule.alternatives[0]
    assert hold.violation_minutes > schedule.violation_minutes or (
        hold.cost_instance_hours >= schedule.cost_instance_hours
    )


@pytest.mark.slow
@settings(max_examples=30)
@given(LOADS, st.integers(1, 12))
def test_same_inputs__give_the_same_schedule(rates: list[float], work: int) -> None:
    assert schedule_for(rates, work) == schedule_for(rates, work)


@settings(max_examples=50)
@given(st.floats(0, 20), st.floats(1, 1.6))
def test_more_load__never_needs_less_capacity(rate: float, factor: float) -> None:
    low = cheapest_plan(PlanModel(PAIR, PROFILES), {"source": rate}, LIMITS)
    high = cheapest_plan(PlanModel(PAIR, PROFILES), {"source": rate * factor}, LIMITS)
    assert isinstance(low, PhysicalPlan)
    assert isinstance(high, PhysicalPlan)
    assert high.parallelism["work"] >= low.parallelism["work"]
