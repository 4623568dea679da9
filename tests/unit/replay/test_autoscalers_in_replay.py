"""Policies that react, in the simulator: the plan follows the load."""

from collections.abc import Callable

import numpy as np
import pytest

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.replay.load import Load
from planner.replay.policies.ds2 import Ds2
from planner.replay.policies.flink_autoscaler import TUNED, FlinkAutoscaler
from planner.replay.policy import Policy
from planner.replay.reality import Differences, Reality
from planner.replay.run import replay

START_S = 1_699_999_980
PAIR = Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))
# One instance of work does 100/s.
PROFILES = {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 0.01)}


@pytest.mark.parametrize("policy", [FlinkAutoscaler, lambda: FlinkAutoscaler(TUNED), Ds2])
def test_a_load_that_rises_and_falls__is_carried_by_as_many_as_it_needs(policy: Callable[[], Policy]) -> None:
    # 150/s for two hours, 450/s for two hours, 150/s for four.
    load = Load(START_S, {"source": np.repeat([150.0, 450.0, 150.0], [120, 120, 240])})
    reality = Reality(PAIR, PROFILES, EngineTerms(downtime_s=30.0), Differences(), load.start_s, load.end_s)
    replayed = replay(policy(), load, reality, {"source": 1, "work": 2})
    work = replayed.parallelism[:, PAIR.order.index("work")]
    # An hour after the rise 450/100 = 4.5 → at least 5 run, and nothing waits. In the end 2 are needed. Flink's dead
    # band keeps up to 4: they do 400/s, no more than 150/0.4 + 150 × 5/30 = 400/s.
    assert work[180] >= 5
    assert replayed.lag_s[180:240].max() < 60
    assert 2 <= work[-1] <= 4
    assert all(taken.in_effect_s is not None for taken in replayed.decisions)
