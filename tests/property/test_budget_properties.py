"""What holds of every proposal: it keeps its budget where anything does, and leaves headroom at the planned peak."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from claimed_cases import FORECAST_PATHS, LIMITS, START, drawn_case
from horizon_cases import PAIR, PROFILES, forecast_of

from modeling.arrays import Floats
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.horizon_search import Turn, followed_course
from planner.horizon.prices import ChangeTerms
from planner.limits import FULL, MAX_UTILISATION
from planner.plan_model import PlanModel

CASES = 40
SHARES = (0.001, 0.005, 0.02, 0.05)
HEADROOM = Headroom.of(LIMITS, 0.95)


@cache
def _proposal(seed: int, share: float) -> HorizonPlan:
    """Job, load and terms of drawn_case, with a guard that acts in half of the cases."""
    case, rng = drawn_case(seed), np.random.default_rng([seed, 3])
    terms = replace(case.terms, react_s=float(rng.choice([np.inf, case.terms.lead_s + 240.0])))
    rescale_h = float(rng.choice([0.1, 1.0]))
    planner = HorizonPlanner(PlanModel(case.topology, case.profiles), LIMITS, terms, rescale_h, headroom=HEADROOM)
    source = case.topology.sources[0]
    forecast = replace(forecast_of(case.paths_per_s[:FORECAST_PATHS], 300, source, START), topology=case.topology.name)
    planned = planner.planned({source: forecast}, Present(START.timestamp(), case.running), Budget(share))
    assert planned is not None
    return planned


def _static(planned: HorizonPlan) -> list[Turn]:
    """To the cheapest plan for the planned quantile of the peak, with headroom, as early as possible."""
    course, ladder = planned.course, planned.ladder
    need = float(planned.ahead.peak_per_s(HEADROOM.quantile).sum())
    plan = int((ladder.capacity_per_s(np.ones((1, 1)))[:, 0] * MAX_UTILISATION >= need).argmax())
    lead_s = planned.terms.stops_after_s(ladder.plans[course.running], ladder.plans[plan])
    stop_s = float(course.edges_s[np.searchsorted(course.edges_s, lead_s - 1e-9)])
    return [] if plan == course.running else [Turn(plan, stop_s - lead_s, stop_s)]


def _utilisations(planned: HorizonPlan) -> list[float]:
    """Of each plan that is turned to, at the planned quantile of its peak; without those that nothing exceeds."""
    found, ahead = [], planned.ahead
    ends_s = [*(turn.stop_s for turn in planned.found.turns[1:]), float(ahead.edges_s[-1])]
    for turn, end_s in zip(planned.found.turns, ends_s, strict=False):
        span = ahead.rate_per_s[0][(ahead.edges_s[:-1] >= turn.stop_s - 1e-9) & (ahead.edges_s[:-1] < end_s - 1e-9)]
        peak = float(np.quantile(span.max(axis=0), HEADROOM.quantile, method="inverted_cdf"))
        capacity = planned.ladder.capacity_per_s(np.ones((1, 1)))[:, 0]
        if turn.plan != capacity.argmax():
            found.append(peak / float(capacity[turn.plan]) * FULL)
    return found


def test_a_schedule__keeps_its_budget_by_other_paths_where_holding_or_one_static_plan_does() -> None:
    kept = 0
    for seed in range(CASES):
        planned = _proposal(seed, SHARES[seed % len(SHARES)])
        assert planned.allowed_minutes is not None
        kept += planned.within_budget
        for turns in ((), _static(planned)):
            other = followed_course(planned.course, turns, planned.terms, planned.prices)
            assert planned.within_budget or other.violation_minutes > planned.allowed_minutes
    assert CASES / 2 < kept < CASES


def test_no_step__is_above_what_headroom_leaves_at_the_planned_peak() -> None:
    most = [max(_utilisations(_proposal(seed, SHARES[seed % len(SHARES)])), default=0.0) for seed in range(CASES)]
    assert 0.8 < max(most) <= MAX_UTILISATION


def test_a_larger_budget__costs_no_more_but_for_a_hundredth() -> None:
    for seed in range(CASES // 2):
        several = [_proposal(seed, share) for share in SHARES]
        costs_h = [
            planned.found.cost_h - planned.prices.violation_h * planned.found.violation_minutes
            for planned in several
            if planned.within_budget
        ]
        assert all(after <= before * 1.01 for before, after in pairwise(costs_h))


def _flat(rate_per_s: float) -> Floats:
    return np.full((200, 144), rate_per_s)


@pytest.mark.parametrize("running", [3, 4])
@pytest.mark.parametrize("rescale_h", [0.0, 1.0])
@pytest.mark.parametrize("react_s", [300.0, np.inf])
@pytest.mark.parametrize("rate_per_s", [2.8, 2.9, 2.997, 3.0, 3.05])
def test_a_flat_load__is_not_followed_up_and_down(
    rate_per_s: float, react_s: float, rescale_h: float, running: int
) -> None:
    """An instance of work carries 1/s, and a change takes no time: three or four of them, all the time. Without
    headroom three lag slowly behind 3/s on half of the paths, and a fourth comes and goes 37 times in twelve hours.
    """
    terms = ChangeTerms(lead_s=60.0, downtime_s=0.0, apart_s=0.0, max_lag_s=90.0, react_s=react_s)
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, terms, rescale_h, headroom=HEADROOM)
    present = Present(START.timestamp(), {"source": 1, "work": running})
    forecasts = {"source": forecast_of(_flat(rate_per_s), 300, start=START)}
    planned = planner.planned(forecasts, present, Budget(0.005))
    assert planned is not None
    assert len(planned.found.turns) <= 1
