"""Policies that react, in the simulator: the plan follows the load."""

from collections.abc import Callable

import pytest
from replay_cases import load_of, plan, reality

from planner.replay.policies.ds2 import Ds2
from planner.replay.policies.flink_autoscaler import TUNED, FlinkAutoscaler
from planner.replay.policy import Policy
from planner.replay.run import replay


@pytest.mark.parametrize("policy", [FlinkAutoscaler, lambda: FlinkAutoscaler(TUNED), Ds2])
def test_a_load_that_rises_and_falls__is_carried_by_as_many_as_it_needs(policy: Callable[[], Policy]) -> None:
    # 15/s for two hours, 45/s for two hours, 15/s for four; each instance does 10/s.
    load = load_of([15.0] * 120 + [45.0] * 120 + [15.0] * 240)
    replayed = replay(policy(), load, reality(load), plan(2))
    work = replayed.parallelism[:, 1]
    # An hour after the rise 45/10 → at least 5 run, and nothing waits. In the end 2 are needed. Flink's dead band keeps
    # up to 4: they do 40/s, no more than 15/0.4 + 15 × 5/30 = 40/s.
    assert work[180] >= 5
    assert replayed.lag_s[180:240].max() < 60
    assert 2 <= work[-1] <= 4
    assert all(taken.in_effect_s is not None for taken in replayed.decisions)
