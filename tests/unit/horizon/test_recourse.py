"""What the guard does for a path beside the schedule: when, how much, how long, and at what cost, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.arrays import Floats
from planner.horizon.horizon_search import Course, Turn, best_course, followed_course
from planner.horizon.kept_budget import course_within
from planner.horizon.prices import ChangeTerms, Prices

TERMS = ChangeTerms(300.0, 120.0, 0.0, 90.0, react_s=600.0)


def _course(first_path: list[float], capacity_per_s: list[float], running: int = 0) -> Course:
    """Ten paths in steps of 5 minutes: one with these rates, the others with 10/s. One instance for each 10/s."""
    rate: Floats = np.full((len(first_path), 10), 10.0)
    rate[:, 0] = first_path
    carried = np.array(capacity_per_s)
    every = carried[:, None, None] * np.ones((1, 1, 10))
    return Course(300.0 * np.arange(len(first_path) + 1), rate, every, carried / 10.0, running)


def test_a_rescue__is_sized_for_load_and_backlog_and_pays_its_downtime() -> None:
    """24/s for 20/s: 2,400 wait after 600 s, a lag of 100 s, of which the last 60 s are late (1.5 minutes with the half
    that is added). 120 s of downtime follow, all late, and leave 5,280. At 85 % and drained in 600 s the load takes
    24 / .85 + 5,280 / 600 = 37/s: the plan of 40/s, not that of 60/s. It drains 16/s, so 3,120 until a lag of 90 s
    take 195 s: 195 + 30 s are late of the third step.
    """
    course = _course([24.0] * 12, [20.0, 30.0, 40.0, 60.0])
    found = followed_course(course, (), TERMS, Prices(1.0, rescale_h=3.0))
    assert 60 * found.late_minutes[0] == pytest.approx((60 + 120 + 30) + (195 + 30))
    assert found.late_minutes[1:].max() == 0
    assert found.instance_hours == pytest.approx(2.0 + 0.1 * 2.0 * 10 / 12)
    lacking_h = 0.1 * 1.5 * 2.0 * 0.2 * 2 / 12
    assert found.cost_h == pytest.approx(found.instance_hours + 0.1 * 3.0 + found.violation_minutes + lacking_h)


def test_a_rescue__is_taken_back_after_half_the_time_between_forecasts_at_the_price_of_a_rescale() -> None:
    """The load falls after 50 minutes. 30 minutes later the plan alone carries it, nothing waits, and the job goes back
    with 120 s of downtime: 30 s too late, and 30 s until 300 of 1,200 have drained by 10/s, each with half a minute.
    """
    before = followed_course(_course([24.0] * 10, [20.0, 40.0]), (), TERMS, Prices(1.0))
    course = _course([24.0] * 10 + [10.0] * 10, [20.0, 40.0])
    found = followed_course(course, (), TERMS, Prices(1.0))
    assert 60 * (found.late_minutes[0] - before.late_minutes[0]) == pytest.approx((30 + 30) + (30 + 30))
    # Two steps before the rescue, 8 + 6 with it, and four after it.
    assert found.instance_hours == pytest.approx(20 * 2 / 12 + 0.1 * 2 * 14 / 12)


def test_a_rescue_that_is_weighed__waits_until_late_minutes_cost_as_much() -> None:
    """24/s for 20/s: 4/s more wait, 2,160 of them, 90 s of lag, after 540 s. When 4,800 wait after 1,200 s, a rescue
    takes 24 / .85 + (4,800 + 2,880) / 600 = 41/s, 21/s more than runs: 1.05 of its plans of 2 instances, so 1.05
    instance-hours in half an hour, and two changes .02 each. That is 655 s at .1 instance-hours a minute, and the job
    is late for 660 s: so it comes 5 s before.

    2,880 arrive in the 120 s that it stops, and 36/s drain: 153 s until 2,160 wait. Three steps are late in part.
    """
    course, weighing = _course([24.0] * 12, [20.0, 30.0, 40.0, 60.0]), replace(TERMS, weighs_rescues=True)
    found = followed_course(course, (), weighing, Prices(0.1, rescale_h=0.02))
    worth_s = 60 / 0.1 * (2 * 0.02 + 2 * 0.5 * (24 / 0.85 + (4800 + 2880) / 600 - 20) / 20)
    drained_s = (4 * (540 + worth_s) + 2880 - 2160) / 36
    assert 60 * found.late_minutes[0] == pytest.approx(worth_s + 120 + drained_s + 3 * 30)
    # Where there are no minutes to spare, it comes as soon as the guard has seen the overload.
    dear = Prices(0.2, rescale_h=0.02)
    at_once, waited = (followed_course(course, (), terms, dear) for terms in (TERMS, weighing))
    assert (waited.cost_h, waited.violation_minutes) == (at_once.cost_h, at_once.violation_minutes)


def test_a_rescue_that_is_weighed__is_no_later_than_it_may_be() -> None:
    """As above, but late for at most 300 s, after 840 s. 4/s have waited by then, and 2,880 more after the stop, which
    takes 39/s: 16/s drain. Three steps are late in part.
    """
    course, weighing = _course([24.0] * 12, [20.0, 30.0, 40.0, 60.0]), replace(TERMS, weighs_rescues=True)
    found = followed_course(course, (), weighing, Prices(0.1, rescale_h=0.02, most_late_s=300.0))
    assert 60 * found.late_minutes[0] == pytest.approx(300 + 120 + (4 * 840 + 2880 - 2160) / 16 + 3 * 30)


def test_a_load_that_is_over_for_less_than_the_reaction__is_late_and_not_rescued() -> None:
    course = _course([10.0, 24.0, 10.0, 10.0], [20.0, 40.0])
    assert followed_course(course, (), TERMS, Prices(1.0)).instance_hours == pytest.approx(4 * 2 / 12)


def test_a_path_that_needs_more_than_a_step_carries__withholds_it_until_the_load_falls() -> None:
    """From 40/s to 20/s where 30/s come for an hour: that path keeps 4 instances until the step in which 10/s come, and
    goes then. On the others the job stops at once; each stop is late for 30 s, and for 30 s of its drain.
    """
    course = _course([30.0] * 12 + [10.0] * 12, [20.0, 40.0], running=1)
    found = followed_course(course, [Turn(0, 0.0, 0.0)], TERMS, Prices(1.0, rescale_h=3.0))
    assert 60 * found.late_minutes[0] == pytest.approx((30 + 30) + (30 + 30))
    assert 60 * found.late_minutes[1] == pytest.approx(30 + 30 + 30)
    assert found.instance_hours == pytest.approx(24 * 2 / 12 + 0.1 * 2 * 13 / 12)
    # The step has its price on every path, once.
    assert found.cost_h == pytest.approx(found.instance_hours + 3.0 + found.violation_minutes)


@pytest.mark.parametrize("terms", [replace(TERMS, react_s=np.inf), replace(TERMS, withholds=False)])
def test_where_nobody_looks__no_step_is_withheld(terms: ChangeTerms) -> None:
    course = _course([30.0] * 4, [20.0, 40.0], running=1)
    found = followed_course(course, [Turn(0, 0.0, 0.0)], replace(terms, react_s=np.inf), Prices(1.0))
    assert found.instance_hours == pytest.approx(4 * 2 / 12)


def test_a_plan_for_a_spiky_load__carries_its_median() -> None:
    """45/s that vary by 30 % from step to step, 16/s an instance, 2 % of the day's minutes allowed: a rescue that cost
    nothing but its instances made one instance look cheapest.
    """
    rate = 45 * np.exp(0.3 * np.random.default_rng(1).standard_normal((288, 100)))
    counts = np.arange(1.0, 31.0)
    course = Course(300.0 * np.arange(289), rate, 16 * counts[:, None, None] * np.ones((1, 1, 100)), counts, 3)
    terms = ChangeTerms(lead_s=120.0, downtime_s=60.0, apart_s=0.0, max_lag_s=90.0, react_s=360.0)
    found, _ = course_within(course, terms, Prices(3.0), 0.02 * 1440)
    assert all(16 * counts[turn.plan] > np.median(rate) for turn in found.turns)


def test_a_dearer_rescale__makes_a_plan_that_is_rescued_less() -> None:
    rate = 45 * np.exp(0.3 * np.random.default_rng(2).standard_normal((96, 50)))
    counts = np.arange(1.0, 12.0)
    course = Course(300.0 * np.arange(97), rate, 16 * counts[:, None, None] * np.ones((1, 1, 50)), counts, 3)
    hours = [best_course(course, TERMS, Prices(0.1, rescale_h=price)).instance_hours for price in (0.1, 10.0)]
    assert hours[0] <= hours[1]
