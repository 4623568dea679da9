"""What a planner remembers from one forecast to the next: a ladder that fits what comes, and what it announced."""

from dataclasses import replace

from horizon_cases import LIMITS, PAIR, PROFILES, START, TERMS, level

from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.horizon_search import best_course
from planner.plan_model import PlanModel

HOURS = 24


def _planned(planner: HorizonPlanner, rate_per_s: float, peak_per_s: float) -> HorizonPlan:
    rates = [peak_per_s if 72 <= step < 84 else rate_per_s for step in range(12 * HOURS)]
    running = planner.cheapest.plan({PAIR.sources[0]: rate_per_s})
    planned = planner.planned(level(rates), Present(START.timestamp(), running.parallelism), Budget(0.005))
    assert planned is not None
    return planned


def _planner() -> HorizonPlanner:
    return HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, TERMS, 1.0)


def test_ladder__after_a_spike_is_that_of_a_planner_that_never_saw_it() -> None:
    one = _planner()
    spiky = _planned(one, 20.0, 400.0)
    calm = _planned(one, 20.0, 40.0)
    fresh = _planned(_planner(), 20.0, 40.0)
    assert calm.ladder.plans == fresh.ladder.plans
    assert len(calm.ladder.plans) < len(spiky.ladder.plans)
    assert calm.found.turns == fresh.found.turns


def test_ladder__that_reaches_a_little_further_than_needed_is_kept() -> None:
    one = _planner()
    first = _planned(one, 20.0, 100.0)
    assert _planned(one, 20.0, 80.0).ladder is first.ladder


def test_announced_turns__only_tell_a_search_what_is_too_dear() -> None:
    planned = _planned(_planner(), 20.0, 100.0)
    course, terms, prices = planned.course, planned.terms, planned.prices
    alone = best_course(course, terms, prices)
    assert alone.turns
    for announced in (alone.turns, alone.turns[:1]):
        bounded = best_course(replace(course, announced=announced), terms, prices)
        assert (bounded.turns, bounded.cost_h) == (alone.turns, alone.cost_h)
