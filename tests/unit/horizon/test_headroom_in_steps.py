"""Headroom where one change may start and stop few instances: a peak is climbed in several, and never given up."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from horizon_cases import LIMITS, PAIR, START, forecast_of

from modeling.inputs.operator_profile import OperatorProfile
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom, Rungs
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.horizon_search import Turn
from planner.horizon.prices import ChangeTerms
from planner.plan_model import PlanModel

PROFILES = {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 0.1)}
"""An instance carries 10/s."""


def planned(max_step: float) -> HorizonPlan:
    """A launch from 16 to 80/s after three hours, for four, of which paths differ by some 3 %; three instances run."""
    usual = np.full(48, 16.0)
    usual[12:28] = 80.0
    paths = usual * np.exp(0.03 * np.random.default_rng(1).standard_normal((60, 48)))
    terms = ChangeTerms(180.0, 30.0, 300.0, max_lag_s=120.0, react_s=3600.0, max_step=max_step)
    planner = HorizonPlanner(
        PlanModel(PAIR, PROFILES), LIMITS, terms, rescale_h=1.0, headroom=Headroom.of(LIMITS, 0.95)
    )
    present = Present(START.timestamp(), {"source": 1, "work": 3})
    made = planner.planned({"source": forecast_of(paths, 900)}, present, Budget(0.005))
    assert made is not None
    return made


@pytest.mark.parametrize("max_step", [3, 4, 6])
def test_a_launch_beyond_one_step__is_climbed_in_several_within_the_budget(max_step: int) -> None:
    made = planned(max_step)
    counts = [3, *(made.plan_of(turn).parallelism["work"] for turn in made.found.turns)]
    assert max(counts) >= 9
    assert max(abs(after - before) for before, after in pairwise(counts)) <= max_step
    assert made.within_budget


def test_a_plan_that_is_too_full_at_noon_only__is_enlarged_for_noon_only() -> None:
    """One instance has headroom for 7/s, which come until 0:50 and from 14:40 to 19:00."""
    limits = replace(LIMITS, max_utilisation=0.7)
    hours, rates = (0, 5 / 6, 2, 4, 10, 14 + 2 / 3, 17, 19, 21, 24), (9, 7, 4, 1, 1, 7, 8.2, 7, 4.5, 5.5)
    forecast = forecast_of(np.tile(np.interp(np.arange(288) / 12, hours, rates), (60, 1)), 300)
    terms, headroom = ChangeTerms(60.0, 0.0, 300.0, max_lag_s=180.0, react_s=3660.0), Headroom.of(limits, 0.95)
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), limits, terms, rescale_h=1.0, headroom=headroom)
    made = planner.planned({"source": forecast}, Present(START.timestamp(), {"source": 1, "work": 8}), Budget(0.005))
    assert made is not None
    one = made.ladder.number({"source": 1, "work": 1})
    assert one is not None
    may_stop = np.ones((made.course.steps, len(made.ladder.plans)), dtype=bool)
    rungs = Rungs(made.ahead, made.ladder, made.course, terms, may_stop, 1.0)
    _, moved = rungs.with_headroom((Turn(one, 0.0, 0.0),), headroom)
    assert [made.ladder.plans[turn.plan].parallelism["work"] for turn in moved] == [2, 1, 2, 1]
    assert [turn.stop_s / 3600 for turn in moved] == pytest.approx([0, 5 / 6, 14 + 2 / 3, 19], abs=0.2)
