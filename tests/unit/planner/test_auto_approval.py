"""Which steps pass without a question: bounds on instances, cost and probability."""

from dataclasses import replace

import pytest
from ledger_decisions import plan_of, schedule_of

from planner.auto_approval import ApprovalBounds
from planner.scaling_schedule import Alternative, AlternativeKind
from planner.step_cause import ReviewCause
from planner.step_cause import ReviewCauseKind as Kind

# It costs 50 instance-hours, 8 more than holding.
SCHEDULE = replace(
    schedule_of(3),
    violation_probability=0.2,
    alternatives=(Alternative("hold", 42.0, 0, 90.0, "more violations", kind=AlternativeKind.HOLD),),
)


@pytest.mark.parametrize(("most_h", "passes"), [(7.9, False), (8.0, True), (None, True)])
def test_cost__is_what_the_schedule_takes_more_than_holding(most_h: float | None, passes: bool) -> None:
    assert (ApprovalBounds(1, most_h).schedule_beyond(SCHEDULE) is None) is passes


def test_a_cause_for_review__has_value_and_bound() -> None:
    assert ApprovalBounds(max_cost_instance_hours=5).schedule_beyond(SCHEDULE) == ReviewCause(Kind.COST, 8.0, 5)
    beyond = ApprovalBounds(max_violation_probability=0.1).schedule_beyond(SCHEDULE)
    assert beyond == ReviewCause(Kind.PROBABILITY, 0.2, 0.1)
    assert ApprovalBounds(max_step=2).step_beyond(plan_of(2), plan_of(5)) == ReviewCause(Kind.MAX_STEP, 3, 2)
    assert ApprovalBounds(2, 9, 0.25).within(SCHEDULE).bounds == (
        ReviewCause(Kind.MAX_STEP, bound=2),
        ReviewCause(Kind.COST, 8.0, 9),
        ReviewCause(Kind.PROBABILITY, 0.2, 0.25),
    )


def test_a_step__counts_what_it_stops_as_what_it_starts() -> None:
    bounds = ApprovalBounds(max_step=2)
    assert bounds.step_beyond(plan_of(5), plan_of(3)) is None
    assert bounds.step_beyond(plan_of(6), plan_of(3)) is not None


def test_cost__is_told_and_bound_in_prices_where_these_are_known() -> None:
    held = replace(SCHEDULE.alternatives[0], price=84.0)
    priced = replace(SCHEDULE, price=100.0, alternatives=(held,))
    assert ApprovalBounds(max_cost_instance_hours=5).schedule_beyond(priced) == ReviewCause(Kind.COST, 8.0, 5, 16.0)
    assert ApprovalBounds(max_cost_price=16).schedule_beyond(priced) is None
    assert ApprovalBounds(max_cost_price=15).schedule_beyond(priced) == ReviewCause(Kind.PRICE, 16.0, 15)
    assert ApprovalBounds(max_cost_price=20).within(priced).bounds == (ReviewCause(Kind.PRICE, 16.0, 20),)


def test_a_bound_on_the_price__lets_nothing_pass_where_nobody_says_what_plans_cost() -> None:
    beyond = ApprovalBounds(max_cost_price=1000).schedule_beyond(SCHEDULE)
    assert beyond == ReviewCause(Kind.UNPRICED, bound=1000)
