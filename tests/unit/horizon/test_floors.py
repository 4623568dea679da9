"""Lower bounds of a search over a horizon: against single steps, and against what the best course costs."""

from math import inf

import numpy as np
import pytest
from every_course_cases import horizon_case

from planner.horizon.floors import cost_floors_h, least_parts
from planner.horizon.horizon_search import best_course
from planner.horizon.ways import LACKING, stepped


@pytest.mark.parametrize("react_s", [200.0, inf])
@pytest.mark.parametrize("downtime_s", [0.0, 60.0, 400.0])
def test_a_stop__is_late_for_as_long_as_a_step_before_which_nothing_waited(downtime_s: float, react_s: float) -> None:
    rng = np.random.default_rng(1)
    # A load of nothing, and one of just what is carried, stand among them.
    rate, capacity = rng.integers(0, 20, (5, 7)) / 1.0, rng.integers(1, 20, (3, 5, 7)) / 1.0
    edges_s = np.array([0.0, 300.0, 600.0, 660.0, 900.0, 1800.0])
    _, _, stopped_s = least_parts(rate, capacity, edges_s, downtime_s, 90.0, react_s)
    for at, step_s in enumerate(np.diff(edges_s).tolist()):
        down_s = min(downtime_s, step_s)
        for plan in range(3):
            # Where somebody reacts, a path that needs more than the plan may withhold the stop.
            late_s = [
                0.0
                if react_s < inf and rate[at, path] > capacity[plan, at, path]
                else stepped(0.0, rate[at, path], capacity[plan, at, path], step_s, down_s, 90.0)[1]
                for path in range(7)
            ]
            assert stopped_s[at, plan] == pytest.approx(np.mean(late_s), rel=1e-12)


def test_what_lacks__is_told_as_a_part_of_the_plan_and_late_once_the_lag_is_reached() -> None:
    """30/s for 20/s lack half a plan. The lag grows by half a second a second: 90 s after 180 s, so 120 s of 300 are
    late. On the other path nothing lacks: 1/4 and 60 s on average.
    """
    rate, capacity = np.array([[30.0, 10.0]]), np.full((1, 1, 2), 20.0)
    lacking, late_s, _ = least_parts(rate, capacity, np.array([0.0, 300.0]), 60.0, 60.0, inf)
    assert lacking[0, 0] == pytest.approx(0.25)
    assert late_s[0, 0] == pytest.approx(60.0)


@pytest.mark.parametrize("seed", range(40))
def test_no_course__costs_less_than_the_floor(seed: int) -> None:
    case = horizon_case(seed)
    course, terms, prices = case.course, case.terms, case.prices
    counts = course.instances
    change_h = prices.rescale_h + np.zeros((counts.size, counts.size))
    lacking_price = LACKING if terms.react_s == inf else 1.0
    floor_h, _ = cost_floors_h(
        *course.least_parts(terms),
        course.prices_h,
        change_h,
        np.zeros((course.steps, course.instances.size)),
        course.edges_s,
        prices.violation_h,
        lacking_price,
    )
    found = best_course(course, terms, prices)
    assert floor_h[0, course.running] <= found.cost_h * (1 + 1e-9)
