"""Time for a review: waited for while the load lets one wait, and told where it does not."""

from collections.abc import Sequence
from datetime import timedelta

from horizon_cases import LIMITS, PAIR, PROFILES, START, TERMS, level

from forescale.jobs.planning_case import PlanningCase
from forescale.jobs.review_time import ReviewTime
from modeling.inputs.physical_plan import PhysicalPlan
from planner.auto_approval import ApprovalBounds
from planner.decision_basis import NOTHING_KNOWN
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import NO_RULES, Announced, Present
from planner.plan_model import PlanModel
from planner.scaling_schedule import ScalingSchedule

HALF_AN_HOUR = timedelta(minutes=30)
FALLS = [1.8] * 96
"""Carried by 2 instances at any time: what runs beyond them may go now or in half an hour."""


def decided(
    rates_per_s: Sequence[float], running: int, review: ReviewTime | None, announced: Sequence[Announced] = ()
) -> ScalingSchedule:
    plan = PhysicalPlan("pair", {"source": 1, "work": running})
    present = Present(START.timestamp(), plan.parallelism, announced=announced)
    case = PlanningCase(
        PlanModel(PAIR, PROFILES),
        LIMITS,
        TERMS,
        1.0,
        {},
        present,
        Budget(0.005),
        NO_RULES,
        plan,
        0.95,
        NOTHING_KNOWN,
        review=review,
    )
    return case.decided(level(rates_per_s))


def test_a_proposal__waits_for_its_review_where_the_load_lets_it() -> None:
    """Seven instances too many for half an hour cost 3.5 instance-hours and no minute in violation."""
    assert decided(FALLS, 9, None).steps[0].deploy_at == START
    schedule = decided(FALLS, 9, ReviewTime(1800.0, None, []))
    assert schedule.steps[0].deploy_at == START + HALF_AN_HOUR
    assert not schedule.is_too_late_for_review(schedule.steps[0])


def test_a_load_that_comes_sooner__is_not_waited_for_and_the_proposal_says_so() -> None:
    """3 instances carry 3 of 8.5/s: after half an hour 9900 wait, and the budget allows 2.4 minutes in 8 hours."""
    schedule = decided([8.5] * 96, 3, ReviewTime(1800.0, None, []))
    step = schedule.steps[0]
    assert step.deploy_at == START
    assert schedule.is_too_late_for_review(step)
    assert step.needed_until is not None


def test_a_step_that_needs_no_approval__does_not_wait() -> None:
    small = ReviewTime(1800.0, ApprovalBounds(max_step=7), [])
    assert decided(FALLS, 9, small).steps[0].deploy_at == START
    asked = ReviewTime(1800.0, ApprovalBounds(max_step=6), [])
    assert decided(FALLS, 9, asked).steps[0].deploy_at == START + HALF_AN_HOUR
    dear = ReviewTime(1800.0, ApprovalBounds(max_step=7, max_violation_probability=0.0, max_cost_price=0.0), [])
    assert decided(FALLS, 9, dear).steps[0].deploy_at == START + HALF_AN_HOUR


def test_a_step_that_was_approved_before__does_not_wait_again() -> None:
    announced = Announced(START.timestamp() + 600.0, {"source": 1, "work": 2}, approved=True)
    schedule = decided(FALLS, 9, ReviewTime(1800.0, None, [announced]), [announced])
    assert schedule.steps[0].deploy_at <= START + timedelta(minutes=10)
