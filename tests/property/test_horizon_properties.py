"""What holds of every course that a search over a horizon finds."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from every_course import cheapest_course, late_minutes
from every_course_cases import HorizonCase, horizon_case, priced_case, stateful_case
from hypothesis import given
from hypothesis import strategies as st

from modeling.arrays import Floats
from planner.errors import PlanError
from planner.horizon.horizon_search import Course, Turn, best_course, followed_course
from planner.horizon.kept_budget import course_within
from planner.horizon.prices import ChangeTerms, Prices

SEEDS = st.integers(0, 2**31)


def _off(case: HorizonCase) -> float:
    """How far what is found costs more than the cheapest sequence of changes there is. Sequences that cost more than
    what is found are not looked at; that one itself is, and by another queue it costs the same.
    """
    found = best_course(case.course, case.terms, case.prices)
    known_h = found.cost_h + 1e-6 * abs(found.cost_h) + 1e-9
    least_h, turns = cheapest_course(case.course, case.terms, case.prices, known_h, case.closed)
    assert least_h < known_h
    assert followed_course(case.course, turns, case.terms, case.prices).cost_h == pytest.approx(least_h)
    return found.cost_h / least_h - 1


def test_best_course__costs_what_the_cheapest_of_all_costs_but_for_a_hundredth() -> None:
    off = np.array([_off(horizon_case(seed)) for seed in range(1000)])
    assert off.min() > -1e-9
    assert (off <= 0.01).mean() >= 0.99
    assert (off <= 1e-6).mean() >= 0.97


def test_best_course__is_as_near_to_the_cheapest_where_containers_and_moved_state_are_paid_for() -> None:
    off = np.array([_off(priced_case(seed)) for seed in range(1000)])
    assert off.min() > -1e-9
    assert (off <= 0.01).mean() >= 0.99
    assert (off <= 1e-6).mean() >= 0.97


def test_best_course__is_as_near_where_downtimes_follow_the_state_and_spans_are_closed() -> None:
    off = np.array([_off(stateful_case(seed)) for seed in range(1000)])
    assert off.min() > -1e-9
    assert (off <= 0.01).mean() >= 0.99
    assert (off <= 1e-6).mean() >= 0.97


@given(SEEDS)
def test_turns__are_asked_for_early_enough_apart_and_never_while_the_job_is_down(seed: int) -> None:
    case = horizon_case(seed)
    course, terms = case.course, case.terms
    free_s, plan = course.free_s, course.running
    for turn in best_course(course, terms, case.prices).turns:
        grows = course.instances[turn.plan] > course.instances[plan]
        assert turn.plan != plan
        assert turn.stop_s in course.edges_s[:-1]
        assert turn.asked_s == turn.stop_s - (terms.lead_s if grows else 0.0)
        assert turn.asked_s >= free_s - 1e-6
        free_s, plan = turn.stop_s + terms.downtime_s + terms.apart_s, turn.plan


@given(SEEDS, st.sampled_from([horizon_case, stateful_case]))
def test_late_minutes__are_those_of_another_fluid_queue_path_by_path(
    seed: int, drawn: Callable[[int], HorizonCase]
) -> None:
    case = drawn(seed)
    found = best_course(case.course, case.terms, case.prices)
    assert found.late_minutes == pytest.approx(late_minutes(case.course, case.terms, found.turns), abs=1e-6)
    assert found.violation_minutes == pytest.approx(found.late_minutes.mean())


def test_more_that_is_allowed__never_costs_more_but_for_a_hundredth() -> None:
    more = []
    for seed in range(200):
        case, costs_h = horizon_case(seed), []
        for allowed in (0.5, 2.0, 8.0, 32.0):
            found, prices = course_within(case.course, case.terms, replace(case.prices, violation_h=3.0), allowed)
            if found.violation_minutes <= allowed:
                costs_h.append(found.cost_h - prices.violation_h * found.violation_minutes)
        more += [after / before - 1 for before, after in pairwise(costs_h)]
    assert len(more) > 200
    assert np.mean(np.array(more) <= 0.01) >= 0.99


def _level(
    rate_per_s: Floats, capacity_per_s: list[float], running: int, step_s: float = 60.0, waiting: float = 0.0
) -> Course:
    """One instance for each 10/s."""
    carried = np.array(capacity_per_s)[:, None, None] * np.ones((1, 1, rate_per_s.shape[1]))
    edges_s = step_s * np.arange(len(rate_per_s) + 1)
    return Course(edges_s, rate_per_s, carried, np.array(capacity_per_s) / 10.0, running, waiting)


@given(st.floats(1.05, 1.3), st.floats(60, 300), st.floats(0.1, 30))
def test_a_spike_that_stays_within_the_lag__is_ridden_out(above: float, downtime_s: float, price_h: float) -> None:
    """A minute of at most 26/s of which 20 are carried leaves 360 tuples, at 15/s a lag of 24 s."""
    rate = np.full((60, 2), 15.0)
    rate[30] = 20.0 * above
    terms = ChangeTerms(lead_s=120.0, downtime_s=downtime_s, apart_s=0.0, max_lag_s=30.0)
    assert best_course(_level(rate, [20.0, 40.0, 60.0], 0), terms, Prices(price_h)).turns == ()


@given(st.floats(60, 300), st.floats(600, 6000), st.floats(0.2, 30))
def test_no_scale_down__comes_while_a_backlog_keeps_a_path_late(
    downtime_s: float, waiting: float, price_h: float
) -> None:
    """4 instances drain 30/s until 900 wait, the target of 90 s; 2 drain 10/s, and nothing at all while they start.

    A minute of 2 instances fewer saves 1/30 of an instance-hour: less than a violation costs.
    """
    course = _level(np.full((120, 1), 10.0), [20.0, 40.0], 1, waiting=waiting)
    terms = ChangeTerms(lead_s=120.0, downtime_s=downtime_s, apart_s=0.0, max_lag_s=90.0)
    found = best_course(course, terms, Prices(price_h, rescale_h=0.1))
    late_until_s = max(0.0, waiting - 900.0) / 30.0
    # Steps are a minute long: at the edge before, less than one of them is late.
    assert all(turn.stop_s > late_until_s - 60.0 for turn in found.turns)


def test_a_load_at_capacity__is_not_left_there_where_violations_are_dear() -> None:
    """What carries 20/s as believed carries less on every second path, by 5 %: in two hours their lag is 378 s."""
    course = _level(np.full((24, 10), 20.0), [20.0, 30.0], 0, step_s=300.0)
    errors = np.where(np.arange(10) % 2, 0.95, 1.05)
    course = replace(course, capacity_per_s=course.capacity_per_s * errors)
    terms = ChangeTerms(lead_s=300.0, downtime_s=60.0, apart_s=0.0, max_lag_s=90.0)
    assert [turn.plan for turn in best_course(course, terms, Prices(10.0)).turns] == [1]
    assert best_course(course, terms, Prices(0.0)).turns == ()


def _later(course: Course, turns: tuple[Turn, ...], step: int, terms: ChangeTerms) -> Course | None:
    """The same from a step on, after the turns before it; None where the job is down or paths differ in what waits."""
    at_s = float(course.edges_s[step])
    past = [turn for turn in turns if turn.stop_s < at_s]
    if past and past[-1].stop_s + terms.downtime_s > at_s:
        return None
    return replace(
        course,
        edges_s=course.edges_s[step:] - at_s,
        rate_per_s=course.rate_per_s[step:],
        running=past[-1].plan if past else course.running,
        free_s=max(0.0, (past[-1].stop_s + terms.downtime_s + terms.apart_s if past else course.free_s) - at_s),
        waiting=0.0,
    )


def test_a_plan_made_anew_when_a_step_is_asked_for__keeps_the_steps_that_were_announced() -> None:
    """On the same forecast, with nothing waiting by then: the rest is worth as much as it was."""
    again = kept = 0
    terms = ChangeTerms(lead_s=300.0, downtime_s=60.0, apart_s=0.0, max_lag_s=90.0)
    for seed in range(300):
        case = horizon_case(seed)
        course = replace(case.course, waiting=0.0, free_s=0.0)
        found = best_course(course, terms, case.prices)
        for turn in found.turns:
            step = int(np.searchsorted(course.edges_s, turn.asked_s - 1e-9))
            later = _later(course, found.turns, step, terms) if step else None
            if later is None:
                continue
            at_s = float(course.edges_s[step])
            announced = [Turn(t.plan, t.asked_s - at_s, t.stop_s - at_s) for t in found.turns if t.stop_s >= at_s]
            if any(each.asked_s < 0 for each in announced):
                continue
            anew = best_course(later, terms, case.prices)
            held = followed_course(later, announced, terms, case.prices)
            again += 1
            kept += anew.cost_h >= held.cost_h * (1 - 1e-9) and anew.turns[:1] == tuple(announced[:1])
    assert again > 100
    assert kept / again >= 0.9, (kept, again)


def test_a_plan_that_is_none_of_the_ladder__cannot_run() -> None:
    with pytest.raises(PlanError, match="plan 2 runs, and the ladder has plans 0 to 1"):
        _level(np.full((4, 1), 20.0), [20.0, 30.0], 2)


def test_prices_of_stops__are_given_for_each_step_and_plan() -> None:
    with pytest.raises(PlanError, match=r"shape \(3, 2\); give \(4, 2\)"):
        replace(_level(np.full((4, 1), 20.0), [20.0, 30.0], 1), turn_h=np.zeros((3, 2)))
