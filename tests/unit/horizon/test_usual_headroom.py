"""Headroom at the usual load: nothing flaps where a rescale costs nothing, and spikes are left to the guard."""

import numpy as np
import pytest
from horizon_cases import LIMITS, PAIR, START, forecast_of

from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from planner.horizon.budget import Budget
from planner.horizon.capacity_use import CapacityUse
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.ladder import ladder_of
from planner.horizon.outlook import Outlook
from planner.horizon.prices import ChangeTerms
from planner.plan_model import PlanModel

PROFILES = {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 0.1)}
"""An instance carries 10/s."""
FREE = ChangeTerms(lead_s=0.0, downtime_s=0.0, apart_s=0.0, max_lag_s=90.0, react_s=240.0, rescue_utilisation=0.7)
"""The guard acts, and a rescale neither stops the job nor has a price."""


def planned(rates_per_s: Floats, running: int) -> HorizonPlan:
    """rates_per_s: shape (paths, steps), for six hours."""
    headroom = Headroom.of_usual_load(LIMITS)
    planner = HorizonPlanner(PlanModel(PAIR, PROFILES), LIMITS, FREE, rescale_h=0.0, headroom=headroom)
    present = Present(START.timestamp(), {"source": 1, "work": running})
    made = planner.planned({"source": forecast_of(rates_per_s, 300)}, present, Budget(0.005))
    assert made is not None
    return made


@pytest.mark.parametrize("running", [3, 4])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_flat_load_at_exactly_three_instances__makes_nothing_flap(running: int, noise: float) -> None:
    rates = 30.0 * np.exp(noise * np.random.default_rng(1).standard_normal((200, 72)))
    made = planned(rates, running)
    # 30/s are 100 % of three instances and 75 % of four: no step leads to three, so at most one leads to four.
    assert [made.plan_of(turn).parallelism["work"] for turn in made.found.turns] in ([], [4])
    assert made.within_budget


def test_a_spike_that_each_path_has_at_another_moment__needs_no_headroom_in_a_plan() -> None:
    rates = np.full((40, 72), 18.0)
    rates[np.arange(40), np.arange(40)] = 60.0
    ahead = Outlook(0.0, 300.0 * np.arange(73), rates.T[None], np.ones(72, dtype=bool))
    # Each path peaks at 60/s, while the median of each moment is 18/s.
    use = CapacityUse(ahead, ladder_of([PhysicalPlan(PAIR.name, {"source": 1, "work": 6})], PlanModel(PAIR, PROFILES)))
    assert use.of(0.5).tolist() == [60 / 60]
    assert use.of(0.5, each_moment=True).tolist() == [18 / 60]
    assert use.of(0.99, each_moment=True).tolist() == [60 / 60]
