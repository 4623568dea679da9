"""Properties of every schedule."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import make_schedule
from planner.search.cheapest_plan import cheapest_plan

START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
PAIR = Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))
PROFILES = {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 1.0)}
LIMITS = Limits(max_instances=40)
LOADS = st.lists(st.floats(0.05, 25), min_size=4, max_size=12)


def schedule_for(rates: list[float], work: int) -> ScalingSchedule:
    return make_schedule(
        PAIR,
        PROFILES,
        Demand(START, 1800, 0.95, {"source": np.array(rates)}),
        PhysicalPlan("pair", {"source": 1, "work": work}),
        made_at=START,
        limits=LIMITS,
        rescale=RescaleTerms(),
    )


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(LOADS, st.integers(1, 12))
def test_plan_in_place__always_carries_the_demand_after_the_first_slot(rates: list[float], work: int) -> None:
    schedule = schedule_for(rates, work)
    for slot in range(1, len(rates)):
        moment = START + timedelta(seconds=1800 * slot)
        plan = [schedule.current, *(step.plan for step in schedule.steps if step.deploy_at <= moment)][-1]
        assert rates[slot] / plan.parallelism["work"] <= LIMITS.max_utilisation + 1e-9


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(LOADS, st.integers(1, 12))
def test_steps__are_in_order_chained_and_never_in_the_past(rates: list[float], work: int) -> None:
    schedule = schedule_for(rates, work)
    before, moment = schedule.current, START
    for step in schedule.steps:
        assert step.deploy_at >= moment
        assert step.replaces == before
        assert not step.plan.same_parallelism(before)
        before, moment = step.plan, step.deploy_at


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(LOADS, st.integers(1, 12))
def test_same_inputs__give_the_same_schedule(rates: list[float], work: int) -> None:
    assert schedule_for(rates, work) == schedule_for(rates, work)


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 20), st.floats(1, 1.6))
def test_more_load__never_needs_less_capacity(rate: float, factor: float) -> None:
    low = cheapest_plan(PAIR, PROFILES, {"source": rate}, LIMITS)
    high = cheapest_plan(PAIR, PROFILES, {"source": rate * factor}, LIMITS)
    assert isinstance(low, PhysicalPlan)
    assert isinstance(high, PhysicalPlan)
    assert high.parallelism["work"] >= low.parallelism["work"]
