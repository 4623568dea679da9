"""The price of a violation is what makes a plan keep to what is allowed."""

import numpy as np
import pytest

from planner.horizon.budget import MAX_H, MIN_H, allowed_minutes
from planner.horizon.horizon_search import Course, best_course
from planner.horizon.kept_budget import course_within
from planner.horizon.prices import ChangeTerms, Prices

TERMS = ChangeTerms(lead_s=300.0, downtime_s=120.0, apart_s=0.0, max_lag_s=90.0)


def _day(paths: int = 20) -> Course:
    """From 10 to 80 a second and back, by a path some 10 % more or less; plans of 1 to 12 instances for 10/s each."""
    hours = np.arange(96) / 4
    wave = 10 + 70 * (0.5 - 0.5 * np.cos(2 * np.pi * hours / 24))
    rate = wave[:, None] * np.exp(0.1 * np.random.default_rng(1).standard_normal(paths))
    counts = np.arange(1.0, 13.0)
    return Course(np.arange(97) * 900.0, rate, 10.0 * counts[:, None, None] * np.ones((1, 1, paths)), counts, 1)


@pytest.mark.parametrize("allowed", [2.5, 5.0, 30.0])
@pytest.mark.parametrize("begin_h", [0.1, 3.0, 30.0])
def test_what_is_expected__is_within_what_is_allowed_at_the_lowest_price_that_does_it(
    allowed: float, begin_h: float
) -> None:
    found, prices = course_within(_day(), TERMS, Prices(begin_h), allowed)
    assert found.violation_minutes <= allowed
    assert prices.violation_h > MIN_H
    cheaper = best_course(_day(), TERMS, Prices(prices.violation_h / 2))
    assert cheaper.violation_minutes > allowed


def test_more_that_is_allowed__never_costs_more() -> None:
    hours = [course_within(_day(), TERMS, Prices(3.0), allowed)[0].instance_hours for allowed in (2.5, 5, 30, 120)]
    assert hours == sorted(hours, reverse=True)


def test_where_no_price_is_enough__the_highest_one_is_paid() -> None:
    """The largest plan carries 120/s, and 200/s come."""
    flood = Course(np.arange(13) * 300.0, np.full((12, 1), 200.0), np.full((1, 1, 1), 120.0), np.array([12.0]), 0)
    found, prices = course_within(flood, TERMS, Prices(3.0), 5.0)
    assert found.violation_minutes > 5.0
    assert prices.violation_h == MAX_H


def test_what_the_past_left__may_be_used_up_to_three_times_the_horizons_own() -> None:
    """.5 % of a day of 1,440 minutes are 7.2, and as many of each day before."""
    assert allowed_minutes(0.005, 1440, 0, 0) == 7.2
    assert allowed_minutes(0.005, 1440, 1440, 10.0) == pytest.approx(4.4)
    assert allowed_minutes(0.005, 1440, 10 * 1440, 0) == pytest.approx(21.6)


def test_a_past_that_used_up_more__leaves_a_quarter() -> None:
    """None at all would make the plan pay any price for what it cannot help."""
    assert allowed_minutes(0.005, 1440, 1440, 500.0) == pytest.approx(1.8)
