"""Schedules of jobs that warm up: exactly as before without one, and up in time with one."""

from dataclasses import replace

import numpy as np
import pytest
from horizon_cases import START, TERMS, forecast_of, schedule_of

from modeling.rescaling.recovery import catch_up_s
from modeling.rescaling.warm_up import WarmUp
from planner.horizon.budget import Budget
from planner.horizon.horizon_search import Course, Turn, best_course, followed_course
from planner.horizon.prices import Prices
from planner.horizon.ways import speeds_in
from planner.scaling_schedule import ScalingSchedule

COLD = WarmUp(0.25, 240.0)
"""45 s of its time constant of 60 s are lost: (1 - 0.25) · 60."""


def _course(paths: int = 5, steps: int = 60) -> Course:
    rng = np.random.default_rng(3)
    shape = 5 + 3 * np.sin(np.arange(steps) / 9)
    rate_per_s = shape[:, None] * rng.lognormal(0.0, 0.2, (steps, paths))
    capacity_per_s = np.array([4.0, 6.0, 8.0, 11.0])[:, None, None] * np.ones((1, 1, paths))
    return Course(300.0 * np.arange(steps + 1), rate_per_s, capacity_per_s, np.arange(4.0, 8.0), running=1)


@pytest.mark.parametrize("react_s", [np.inf, 540.0])
def test_course__at_full_speed_from_the_start_is_exactly_what_it_was(react_s: float) -> None:
    terms, prices = replace(TERMS, react_s=react_s), Prices(2.0)
    plain = best_course(_course(), terms, prices)
    warm = best_course(_course(), replace(terms, warm_up=WarmUp(1.0, 600.0)), prices)
    assert (plain.turns, plain.cost_h, plain.violation_minutes) == (warm.turns, warm.cost_h, warm.violation_minutes)


@pytest.mark.parametrize("react_s", [np.inf, 540.0])
def test_course__that_is_searched_costs_what_it_costs_when_followed(react_s: float) -> None:
    terms, prices, course = replace(TERMS, react_s=react_s, warm_up=COLD, max_lag_s=60.0), Prices(2.0), _course()
    found = best_course(course, terms, prices)
    assert followed_course(course, found.turns, terms, prices).cost_h == found.cost_h
    assert found.turns
    # Nothing that was found without the warm-up is better with it.
    plain = best_course(course, replace(terms, warm_up=WarmUp()), prices)
    assert found.cost_h <= followed_course(course, plain.turns, terms, prices).cost_h + 1e-9


def test_speeds__are_means_of_the_curve() -> None:
    lost_by_s, edges_s = COLD.lost_by_second(), np.array([0.0, 300.0, 600.0])
    # Up 30 s into the first step: a first part up to a quarter of 240 s after that, then the rest.
    part_s, first, then = speeds_in(edges_s, 0, 30.0, lost_by_s)
    assert part_s == 90.0
    assert first == pytest.approx(1 - float(COLD.lost_s(60.0)) / 60.0)
    assert then == pytest.approx(1 - float(COLD.lost_s(270.0) - COLD.lost_s(60.0)) / 210.0)
    assert speeds_in(edges_s, 1, 30.0, lost_by_s) == (300.0, 1.0, 1.0)
    assert speeds_in(edges_s, 0, -np.inf, lost_by_s) == (300.0, 1.0, 1.0)


def _late_s(rate_per_s: float, capacity_per_s: float, max_lag_s: float, steps: int) -> float:
    """Seconds in which the lag exceeds the target after a change with 30 s of downtime, second by second."""
    waits, late = 0.0, 0.0
    for second in range(300 * steps):
        up_s = second + 0.5 - 30.0
        speed = 0.0 if up_s < 0 else float(COLD.share(up_s))
        waits = max(0.0, waits + rate_per_s - capacity_per_s * speed)
        late += waits / rate_per_s > max_lag_s
    return late


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7, 0.85, 0.95])
def test_course__is_as_late_as_a_simulation_second_by_second(share: float) -> None:
    steps, capacity_per_s = 12, 10.0
    rate_per_s = np.full((steps, 1), capacity_per_s * share)
    course = Course(
        300.0 * np.arange(steps + 1), rate_per_s, np.array([20.0, 10.0])[:, None, None], np.array([2.0, 1.0]), running=0
    )
    terms = replace(TERMS, lead_s=0.0, warm_up=COLD, max_lag_s=25.0)
    found = followed_course(course, [Turn(1, 0.0, 0.0)], terms, Prices(1.0))
    late_s = _late_s(capacity_per_s * share, capacity_per_s, 25.0, steps)
    # Each step that is partly late counts half a minute more; speeds are means of two parts of a step.
    steps_late = np.ceil(late_s / 300.0)
    assert found.violation_minutes * 60 == pytest.approx(late_s + 30.0 * steps_late, rel=0.2, abs=15.0)


def _morning(warm_up: WarmUp) -> ScalingSchedule:
    """The load doubles after two hours; a lag of more than 20 s is a violation, a downtime alone is 15 s."""
    rates_per_s = [4.5] * 24 + [9.5] * 24
    terms = replace(TERMS, downtime_s=15.0, max_lag_s=20.0, warm_up=warm_up)
    forecasts = {"source": forecast_of(np.array([rates_per_s]), 300)}
    return schedule_of(forecasts, {"source": 1, "work": 5}, terms=terms, budget=Budget(0.0))


def test_schedule__has_a_plan_up_and_warm_before_the_load() -> None:
    (plain,), (cold,) = _morning(WarmUp()).steps, _morning(COLD).steps
    assert cold.deploy_at < plain.deploy_at
    assert (cold.in_place_at - START).total_seconds() <= 7200 < (plain.in_place_at - START).total_seconds()
    assert cold.catch_up_s == pytest.approx(catch_up_s(4.5, 9.99, 15.0, COLD), rel=0.01)
