"""A two-operator topology whose arithmetic fits in one's head."""

import pytest

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology


@pytest.fixture
def pair() -> Topology:
    return Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))


@pytest.fixture
def pair_profiles() -> dict[str, OperatorProfile]:
    """work takes 1 s a tuple: utilisation = rate / instances. The source costs next to nothing."""
    return {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 1.0)}
