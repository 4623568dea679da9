"""Topologies that the model's tests share."""

import pytest

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Operator, Stream, Topology


@pytest.fixture
def chain() -> Topology:
    """a → b → c, shuffled."""
    return Topology("chain", tuple(Operator(n) for n in "abc"), (Stream("a", "b"), Stream("b", "c")))


@pytest.fixture
def chain_profiles() -> dict[str, OperatorProfile]:
    """b splits each tuple of a in 5; 1, 10 and 4 ms a tuple."""
    return {
        "a": OperatorProfile("a", 0.001, {"a->b": 1.0}),
        "b": OperatorProfile("b", 0.010, {"b->c": 5.0}),
        "c": OperatorProfile("c", 0.004),
    }


@pytest.fixture
def uneven_diamond() -> Topology:
    """s → x → j and s → y → z → j: breadth-first order would compute j before z."""
    return Topology(
        "diamond",
        tuple(Operator(n) for n in "sxyzj"),
        (Stream("s", "x"), Stream("s", "y"), Stream("x", "j"), Stream("y", "z"), Stream("z", "j", Grouping.FIELDS)),
    )
