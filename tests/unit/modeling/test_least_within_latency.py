"""Instances that bring a latency within its bound are found in few questions to the model."""

from collections.abc import Sequence
from typing import ClassVar

import pytest

from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.least_parallelism import Counts, LatencyBounds, Question, fewest_instances_each
from modeling.least_within_latency import fewest_within_latency

LINE = Topology("line", tuple(Operator(name, max_parallelism=400) for name in "abcd"), tuple(map(Stream, "abc", "bcd")))
PROFILES = {
    name: OperatorProfile(name, service_s) for name, service_s in zip("abcd", (1e-4, 0.02, 0.03, 0.01), strict=True)
}
BOUND_S = 0.075
"""Service alone takes 60 ms: what is left for waits is 15."""


class Counted(Question):
    """asked: how many parallelisms each time."""

    asked: ClassVar[list[int]] = []

    def strain_each(
        self, several: Sequence[Sequence[Counts]], loads_per_s: Floats, bounds: LatencyBounds
    ) -> list[Floats]:
        self.asked.append(sum(map(len, several)))
        return super().strain_each(several, loads_per_s, bounds)


@pytest.fixture
def question() -> Counted:
    Counted.asked.clear()
    return Counted(LINE, PROFILES, {"a": 2000.0}, 0.95, {})


def test_many_instances_more__are_found_in_few_questions(question: Counted) -> None:
    begun = fewest_instances_each([question])[0]
    assert not isinstance(begun, str)
    found = fewest_within_latency(question, begun, {None: BOUND_S})
    assert found is not None
    # One after the other they would be some sixty questions.
    assert sum(found.values()) - sum(begun.values()) > 300
    assert len(question.asked) < 20


def test_none_of_the_instances_that_are_found__can_be_left_out(question: Counted) -> None:
    begun = fewest_instances_each([question])[0]
    assert not isinstance(begun, str)
    found = fewest_within_latency(question, begun, {None: BOUND_S})
    assert found is not None
    assert question.latency_s([found], None)[0] <= BOUND_S
    fewer = [{**found, name: count - 1} for name, count in found.items() if count > begun[name]]
    assert fewer
    assert (question.latency_s(fewer, None) > BOUND_S).all()
