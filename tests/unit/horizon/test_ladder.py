"""The capacity ladder: every step of it is the cheapest plan of some load, and carries what it is said to."""

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.horizon.ladder import capacity_ladder
from planner.limits import Limits
from planner.search.remembered_plans import RememberedPlans

TOPOLOGY = Topology("join", tuple(map(Operator, "abj")), (Stream("a", "j"), Stream("b", "j")))
PROFILES = {
    "a": OperatorProfile("a", 0.001),
    "b": OperatorProfile("b", 0.002),
    "j": OperatorProfile("j", 0.02, stream_service_s={"a->j": 0.01, "b->j": 0.03}),
}


def test_plans__go_up_one_instance_at_a_time_and_have_the_running_one() -> None:
    cheapest = RememberedPlans(TOPOLOGY, PROFILES, Limits(max_utilisation=0.8))
    running = PhysicalPlan("join", {"a": 3, "b": 1, "j": 7})
    ladder = capacity_ladder(cheapest, [{"a": 100.0, "b": 100.0}], [running])
    # 100 a second of 10 ms and of 30 ms keep 4 instances busy, at .8 at most 5.
    assert dict(ladder.plans[-2].parallelism) == {"a": 1, "b": 1, "j": 5}
    assert ladder.number(running.parallelism) == len(ladder.plans) - 1
    assert ladder.instances.tolist() == [3, 4, 5, 6, 7, 11]


def test_capacity__is_where_the_model_says_that_a_plan_has_no_more_than_its_headroom() -> None:
    cheapest = RememberedPlans(TOPOLOGY, PROFILES, Limits(max_utilisation=0.8))
    ladder = capacity_ladder(cheapest, [{"a": 100.0, "b": 100.0}], [PhysicalPlan("join", {"a": 1, "b": 1, "j": 1})])
    mix = np.array([[0.5, 0.9, 0.0], [0.5, 0.1, 1.0]])
    found = ladder.capacity_per_s(mix)
    for number, plan in enumerate(ladder.plans):
        for moment in range(mix.shape[1]):
            load = dict(zip("ab", (10.0 * mix[:, moment]).tolist(), strict=True))
            told = 0.8 * evaluate(TOPOLOGY, PROFILES, plan, load).saturation_scale
            assert found[number, moment] == pytest.approx(10.0 * told)


def test_operators_that_take_no_time__carry_any_load() -> None:
    profiles = {name: OperatorProfile(name, 0.0) for name in "abj"}
    cheapest = RememberedPlans(TOPOLOGY, profiles, Limits(max_utilisation=0.8))
    ladder = capacity_ladder(cheapest, [{"a": 100.0, "b": 100.0}], [PhysicalPlan("join", {"a": 1, "b": 1, "j": 1})])
    assert ladder.capacity_per_s(np.array([[0.5, 1.0], [0.5, 0.0]])).tolist() == [[np.inf, np.inf]]
