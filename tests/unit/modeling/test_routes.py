"""Slow tuples that leave by an output of their own: estimates know neither, and say so."""

import pytest

from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology

TOPOLOGY = Topology(
    "routed",
    (Operator("in"), Operator("split"), Operator("quick"), Operator("slow")),
    (Stream("in", "split"), Stream("split", "quick"), Stream("split", "slow")),
)
# 95 % take 1, 5 % take 10: mean 1.45, mean square 5.95, cv² 5.95 / 1.45² − 1 = 1.83.
CV2 = 5.95 / 1.45**2 - 1


@pytest.mark.parametrize(
    ("cv2", "to_slow", "noted"), [(CV2, 0.05, True), (1.0, 0.05, False), (CV2, 0.0, False), (CV2, 1.0, False)]
)
def test_an_estimate__says_that_slow_tuples_may_take_one_path(cv2: float, to_slow: float, noted: bool) -> None:
    split = OperatorProfile("split", 0.001, {"split->quick": 0.95, "split->slow": to_slow}, service_cv2=cv2)
    profiles = {name: OperatorProfile(name, 0.001) for name in TOPOLOGY.order} | {"split": split}
    told = evaluate(TOPOLOGY, profiles, PhysicalPlan("routed", dict.fromkeys(TOPOLOGY.order, 1)), {"in": 100.0})
    said = [note for note in told.notes if "take longer than said" in note]
    assert bool(said) is noted
    assert all("split->quick, split->slow" in note for note in said)
