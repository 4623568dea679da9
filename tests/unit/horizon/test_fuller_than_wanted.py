"""planning.max_utilisation decides which plans run; late is only a job that falls behind, in every figure alike."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from horizon_cases import PAIR, PROFILES, START, TERMS, level, schedule_of

from modeling.inputs.physical_plan import PhysicalPlan
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import Change, HorizonPlanner, Present
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.scaling_schedule import AlternativeKind, ScalingSchedule
from planner.schedule import HEADROOM, make_schedule

LIMITS = Limits(max_utilisation=0.8)
FORECASTS = level([1.7] * 72)
"""Six hours in which two instances are 85 % busy, of the 80 % that are wanted."""


def planner() -> HorizonPlanner:
    return HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, TERMS, 1.0, headroom=Headroom.of(LIMITS, 0.95))


def schedule(running: Mapping[str, int]) -> ScalingSchedule:
    planned = planner().planned(FORECASTS, Present(START.timestamp(), running), Budget(0.005))
    assert planned is not None
    return make_schedule(planned, PhysicalPlan("pair", dict(running)), quantile=0.95)


def test_a_plan_that_is_fuller_than_wanted__is_left_and_not_late() -> None:
    made = schedule({"source": 1, "work": 2})
    (step,) = made.steps
    assert step.plan.parallelism["work"] == 3
    (held,) = (each for each in made.alternatives if each.kind is AlternativeKind.HOLD)
    assert (made.violation_minutes, held.violation_minutes) == (pytest.approx(0.0), pytest.approx(0.0))
    assert step.violation_minutes_without == pytest.approx(0.0)
    # 1.7 tuples a second of two instances that carry one each.
    assert (step.busy_before, step.busy_most) == (pytest.approx(0.85), pytest.approx(0.8))
    # What the job carries, not the wanted share of it.
    assert (step.capacity_per_s, step.capacity_before_per_s) == (
        pytest.approx(3.0, rel=0.01),
        pytest.approx(2.0, rel=0.01),
    )


def test_a_plan_that_falls_behind__is_late() -> None:
    made = schedule({"source": 1, "work": 1})
    (held,) = (each for each in made.alternatives if each.kind is AlternativeKind.HOLD)
    assert held.violation_minutes > 60
    # The next smaller plan would miss nothing either: it would be 85 % busy.
    (excuse,) = (each for each in made.excuses if each.plan.parallelism["work"] == 2)
    assert excuse.target == HEADROOM
    assert (excuse.value, excuse.bound) == (pytest.approx(0.85), pytest.approx(0.8))


def test_a_change_by_a_person__is_late_by_the_same_measure() -> None:
    running = {"source": 1, "work": 3}
    change = Change(PhysicalPlan("pair", {"source": 1, "work": 2}), START.timestamp() + 600)
    found = planner().followed(FORECASTS, Present(START.timestamp(), running), [[], [change]], Budget(0.005), 3.0)
    assert found is not None
    assert [each.found.violation_minutes for each in found] == pytest.approx([0.0, 0.0])


def test_a_plan_within_the_budget_that_is_too_full__is_rejected_for_that() -> None:
    # 8/s of a second on 8: full, and late for less than the 3.6 of 720 minutes that the budget allows.
    terms = replace(TERMS, lead_s=60.0, react_s=3660.0)
    rates, headroom = [2.0] * 72 + [8.0] * 72, Headroom(0.95, 0.95)
    made = schedule_of(level(rates), {"source": 1, "work": 3}, terms=terms, budget=Budget(0.005), headroom=headroom)
    (excuse,) = made.excuses
    assert (excuse.plan.parallelism["work"], excuse.target) == (8, HEADROOM)
    assert (excuse.value, excuse.bound) == (pytest.approx(1.0, rel=0.01), pytest.approx(0.95, rel=0.01))
