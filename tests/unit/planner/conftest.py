"""A two-operator topology whose arithmetic fits in one's head, and the plans that a search asks of."""

from collections.abc import Sequence

import pytest

from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.least_parallelism import Counts, LatencyBounds, Question


@pytest.fixture
def pair() -> Topology:
    return Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))


@pytest.fixture
def pair_profiles() -> dict[str, OperatorProfile]:
    """work takes 1 s a tuple: utilisation = rate / instances. The source costs next to nothing."""
    return {"source": OperatorProfile("source", 1e-6), "work": OperatorProfile("work", 1.0)}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The instances of each plan that a search asks of from now on, by operator."""
    found = list[tuple[int, ...]]()
    excess = Question.excess

    def counted(question: Question, several: Sequence[Counts], bounds: LatencyBounds) -> Floats:
        found.extend(tuple(one.values()) for one in several)
        return excess(question, several, bounds)

    monkeypatch.setattr(Question, "excess", counted)
    return found
