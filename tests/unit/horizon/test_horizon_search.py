"""The best course over a horizon: what it claims and asks for, by hand and on small cases."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.arrays import Floats
from modeling.inputs.physical_plan import PhysicalPlan
from planner.horizon.horizon_plan import room_between
from planner.horizon.horizon_search import Course, Found, Turn, best_course, followed_course
from planner.horizon.prices import ChangeTerms, Prices

TERMS = ChangeTerms(lead_s=300.0, downtime_s=120.0, apart_s=0.0, max_lag_s=90.0)


def _edges_s(step_s: int, steps: int) -> Floats:
    return np.arange(steps + 1, dtype=np.float64) * step_s


def _course(seed: int, steps: int = 7, plans: int = 4, paths: int = 6) -> Course:
    rng = np.random.default_rng(seed)
    level = 5 + 25 * rng.random() + 20 * np.sin(np.arange(steps) * rng.uniform(0.3, 1.5))
    rate = np.maximum(0.1, level[:, None] * np.exp(0.15 * rng.standard_normal((steps, paths))))
    counts = np.sort(rng.choice(np.arange(1, 9), plans, replace=False)).astype(float)
    return Course(
        _edges_s(900, steps),
        rate,
        8.0 * counts[:, None, None] * np.ones((1, 1, paths)),
        counts,
        int(rng.integers(plans)),
    )


@pytest.mark.parametrize("seed", range(8))
def test_what_is_claimed__is_what_following_the_turns_gives(seed: int) -> None:
    course, prices = _course(seed, steps=24), Prices(2.0)
    found = best_course(course, TERMS, prices)
    again = followed_course(course, found.turns, TERMS, prices)
    assert (found.cost_h, found.instance_hours, found.violation_minutes) == pytest.approx(
        (again.cost_h, again.instance_hours, again.violation_minutes)
    )


@pytest.mark.parametrize("seed", range(8))
def test_dearer_violations__are_fewer_and_cost_more_instances(seed: int) -> None:
    course = _course(seed, steps=24)
    found = [best_course(course, TERMS, Prices(price)) for price in (0.1, 1.0, 10.0)]
    minutes, hours = [each.violation_minutes for each in found], [each.instance_hours for each in found]
    assert minutes == sorted(minutes, reverse=True)
    assert hours == sorted(hours)


@pytest.mark.parametrize("seed", range(8))
def test_turns__are_asked_for_early_enough_and_apart(seed: int) -> None:
    terms = ChangeTerms(lead_s=600.0, downtime_s=60.0, apart_s=1800.0, max_lag_s=90.0)
    course = _course(seed, steps=24)
    found = best_course(course, terms, Prices(1.0))
    free_s, plan = course.free_s, course.running
    for turn in found.turns:
        lead_s = 600.0 if course.instances[turn.plan] > course.instances[plan] else 0.0
        assert turn.asked_s == turn.stop_s - lead_s
        assert turn.asked_s >= free_s
        free_s, plan = turn.stop_s + 60.0 + 1800.0, turn.plan


def _spike(minutes: int) -> Found:
    """10/s, and for some minutes 30/s, with a plan of 2 instances for 20/s that runs and one of 4 for 40/s."""
    rate = np.full((60, 1), 10.0)
    rate[20 : 20 + minutes] = 30.0
    course = Course(_edges_s(60, rate.shape[0]), rate, np.array([20.0, 40.0])[:, None, None], np.array([2.0, 4.0]), 0)
    return best_course(course, TERMS, Prices(violation_h=1.0, rescale_h=0.2))


def test_a_spike_shorter_than_a_rescale__is_ridden_out() -> None:
    """2 minutes leave 20 s * 60 = 1,200 tuples, a lag of 40 s at 30/s: no rescale does better than none."""
    assert _spike(2).turns == ()


def test_a_long_peak__is_scaled_for_before_it_comes() -> None:
    """It may still be down as the peak begins: a minute of 10/s and one of 30/s leave 2,400, a lag of 80 s."""
    found = _spike(25)
    assert found.turns[0].plan == 1
    assert found.turns[0].stop_s == 19 * 60


def test_a_backlog__is_drained_before_fewer_instances_run() -> None:
    """6,000 wait, and 10/s come: 4 instances drain 30/s in 200 s. Two would need 600 s, late all the while."""
    rate = np.full((240, 1), 10.0)
    course = Course(
        _edges_s(60, rate.shape[0]),
        rate,
        np.array([20.0, 40.0])[:, None, None],
        np.array([2.0, 4.0]),
        1,
        waiting=6000.0,
    )
    found = best_course(course, TERMS, Prices(violation_h=1.0, rescale_h=0.1))
    assert found.turns[0].plan == 0
    assert found.turns[0].stop_s >= 200 - 60


def test_a_path_that_is_over__is_late_until_its_rescue_has_drained_what_waits() -> None:
    """One of ten paths brings 30/s to a plan for 20/s, for an hour in steps of 5 minutes.

    Nobody reacts: 10/s more wait each second, and 90 s of lag are 2,700 tuples, there after 270 s: all but the first
    270 s are late, of the first step half a minute more: 55.5 + .5 minutes on a tenth of the paths. One instance is
    lacking all the time, at half more than it would have cost: .15 instance-hours. After 600 s somebody reacts: 6,000
    wait, and 9,600 after 120 s of downtime. The strongest plan drains 10/s: 2,700 are left after 690 s. Late are 30 s,
    300 + 120 s, 300 s, 300 s and 90 s, with half a minute more for each step that is not late as a whole, and for the
    one with the downtime. Two instances more run in 10 steps, for one rescale; one is lacking in two steps.
    """
    rate = np.full((12, 10), 10.0)
    rate[:, 0] = 30.0
    carried = np.array([20.0, 40.0])[:, None, None] * np.ones((1, 1, 10))
    course = Course(_edges_s(300, 12), rate, carried, np.array([2.0, 4.0]), 0)
    alone = followed_course(course, (), ChangeTerms(300.0, 120.0, 0.0, 90.0), Prices(1.0))
    assert alone.late_minutes[0] == pytest.approx(55.5 + 0.5)
    assert alone.cost_h == pytest.approx(2.0 + 5.6 + 0.15)
    helped = followed_course(
        course, (), ChangeTerms(300.0, 120.0, 0.0, 90.0, react_s=600.0), Prices(1.0, rescale_h=3.0)
    )
    late_s = (30 + 30) + (300 + 120 + 30) + 300 + 300 + (90 + 30)
    assert 60 * helped.late_minutes[0] == pytest.approx(late_s)
    assert helped.instance_hours == pytest.approx(2.0 + 2.0 * 0.1 * 10 / 12)
    assert helped.cost_h == pytest.approx(helped.instance_hours + 0.1 * 3.0 + 0.1 * late_s / 60 + 0.15 * 2 / 12)


def test_what_no_plan_carries__is_rescued_by_nobody_and_asks_for_the_strongest() -> None:
    """100/s come, and the strongest carries 40/s: all is late with either. Six instances are lacking then and not
    eight, at half more than the two more that run.
    """
    rate = np.full((12, 4), 100.0)
    carried = np.array([20.0, 40.0])[:, None, None] * np.ones((1, 1, 4))
    course = Course(_edges_s(300, 12), rate, carried, np.array([2.0, 4.0]), 0)
    terms = ChangeTerms(0.0, 60.0, 0.0, 90.0, react_s=600.0)
    found = best_course(course, terms, Prices(1.0, rescale_h=0.5))
    assert [(turn.plan, turn.stop_s) for turn in found.turns] == [(1, 0.0)]
    assert found.late_minutes.min() > 55
    assert found.instance_hours == pytest.approx(4.0)


def test_a_moment_that_is_closed__has_no_change_and_one_that_is_wanted_has_it() -> None:
    """A peak from 100 min on: the best stop is at 95 or 98 min. Closed until then, it comes afterwards."""
    rate = np.full((60, 1), 10.0)
    rate[30:] = 30.0
    course = Course(_edges_s(300, 60), rate, np.array([20.0, 40.0])[:, None, None], np.array([2.0, 4.0]), 0)
    closed = np.zeros((60, 2))
    closed[:40] = np.inf
    prices = Prices(5.0, rescale_h=0.5)
    late = best_course(replace(course, turn_h=closed), TERMS, prices)
    assert [turn.stop_s for turn in late.turns] == [40 * 300.0]
    wanted = np.zeros((60, 2))
    wanted[27, 1] = -1.0
    early = best_course(replace(course, turn_h=wanted), TERMS, prices)
    assert [turn.stop_s for turn in early.turns] == [27 * 300.0]
    assert best_course(course, TERMS, prices).turns[0].stop_s > 27 * 300.0


@pytest.mark.parametrize(("after", "lead_s"), [((1.0, 3.0), 300.0), ((1.0, 2.0), 300.0), ((3.0, 1.0), 0.0)])
def test_a_change__waits_where_an_operator_grows_whatever_others_give_up(
    after: tuple[float, float], lead_s: float
) -> None:
    # 4 and 1 instances run and carry 10/s; 20/s come from the hour on, which the other plan carries.
    rate = np.array([[5.0]] * 12 + [[20.0]] * 12)
    counts = np.array([(4.0, 1.0), after])
    course = Course(
        _edges_s(300, 24), rate, np.array([10.0, 30.0])[:, None, None], np.array([5.0, 5.0]), 0, counts=counts
    )
    (turn,) = best_course(course, TERMS, Prices(violation_h=10.0, rescale_h=0.1)).turns
    assert turn.stop_s - turn.asked_s == lead_s
    before, plan = (PhysicalPlan("pair", {"a": int(a), "b": int(b)}) for a, b in counts)
    assert TERMS.stops_after_s(before, plan) == lead_s


def test_changes__start_or_stop_no_more_than_they_may() -> None:
    rate = np.full((60, 1), 10.0)
    rate[30:] = 60.0
    counts = np.array([1.0, 2.0, 4.0, 7.0])
    course = Course(_edges_s(300, 60), rate, 10.0 * counts[:, None, None], counts, 1)
    small = best_course(course, replace(TERMS, max_step=3.0), Prices(5.0))
    sizes = [counts[course.running], *(counts[turn.plan] for turn in small.turns)]
    assert np.abs(np.diff(sizes)).max() <= 3
    assert sizes[-1] == 7
    down = Course(_edges_s(300, 60), rate[::-1].copy(), 10.0 * counts[:, None, None], counts, 3)
    assert best_course(down, TERMS, Prices(5.0)).turns != ()
    assert best_course(down, replace(TERMS, only_out=True), Prices(5.0)).turns == ()


def test_a_downtime_of_a_pair__is_its_own_in_what_waits_and_in_when_the_next_may_follow() -> None:
    """600 s to grow and 60 s to shrink. At 10/s the 90 s that are allowed are over for 510 of the 600 s, and 6,000
    wait, of which 20/s drain: down to 900 after 255 s. With the half minutes that a step counts more, 300 s, 240 s and
    255 + 30 s are late of steps of 300 s.
    """
    restore_s = np.array([[0.0, 540.0], [0.0, 0.0]])
    course = Course(
        _edges_s(300, 8),
        np.full((8, 1), 10.0),
        np.array([15.0, 30.0])[:, None, None] * np.ones((1, 1, 1)),
        np.array([1.0, 2.0]),
        0,
        restore_s=restore_s,
    )
    terms = replace(TERMS, downtime_s=60.0)
    assert course.downtimes_s(terms).tolist() == [[60.0, 600.0], [60.0, 60.0]]
    up = Turn(1, 0.0, 300.0)
    found = followed_course(course, [up], terms, Prices(1.0))
    assert 60 * found.late_minutes[0] == pytest.approx((300 - 90 + 30) + 300 + (255 + 30))
    # A minute down is allowed; asked for while the job is still down it comes when that is over.
    down = followed_course(replace(course, running=1), [Turn(0, 300.0, 300.0)], terms, Prices(1.0))
    assert down.violation_minutes == 0


def test_closed_spans__leave_room_for_a_stop_by_its_own_lead_and_downtime() -> None:
    """Closed until 600 s: what shrinks stops the job then, what grows five minutes later."""
    edges_s = _edges_s(300, 12)
    room_s = room_between([(0.0, 600.0)], edges_s[:-1])
    load = np.array([3.0, 18.0])[:, None, None] * np.ones((1, 12, 1))
    stops_s = []
    for running, rate_per_s in enumerate(load):
        capacity = np.array([20.0, 10.0])[:, None, None] * np.ones((1, 1, 1))
        course = Course(
            edges_s, rate_per_s, capacity, np.array([4.0, 2.0]), running, counts=np.array([[4.0], [2.0]]), room_s=room_s
        )
        found = best_course(course, TERMS, Prices(1.0, rescale_h=0.1))
        stops_s.append((found.turns[0].asked_s, found.turns[0].stop_s))
        early = Turn(1 - running, 0.0, 300.0)
        assert np.isinf(followed_course(course, [early], TERMS, Prices(1.0)).cost_h)
    assert stops_s == [(600.0, 600.0), (600.0, 900.0)]
