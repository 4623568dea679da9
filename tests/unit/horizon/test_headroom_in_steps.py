"""Headroom where one change may start and stop few instances: a peak is climbed in several, and never given up."""

from itertools import pairwise

import numpy as np
import pytest
from horizon_cases import LIMITS, PAIR, START, forecast_of

from modeling.inputs.operator_profile import OperatorProfile
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
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
