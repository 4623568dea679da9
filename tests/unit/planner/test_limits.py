"""What is beyond the limits on a plan, and its sentence."""

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from planner.limits import BoundError, BoundKind, Excess, Limits, too_few, too_many

PLAN = PhysicalPlan("pair", {"read": 1, "work": 11})


def test_a_plan_beyond_all_limits__exceeds_each_of_them() -> None:
    limits = Limits(max_instances=10, max_parallelism={"work": 9, "read": 1})
    counts = PLAN.parallelism
    assert [*too_many(PLAN, limits), *too_few(PLAN, {"read": 2, "work": 11})] == [
        Excess(BoundKind.MAX_PARALLELISM, 11, 9, "work", plan=counts),
        Excess(BoundKind.MAX_INSTANCES, 12, 10, plan=counts),
        Excess(BoundKind.MIN_PARALLELISM, 1, 2, "read", plan=counts),
    ]


def test_a_plan_at_its_limits__exceeds_none() -> None:
    assert not [*too_many(PLAN, Limits(max_instances=12, max_parallelism={"work": 11})), *too_few(PLAN, {"read": 1})]


@pytest.mark.parametrize(
    ("excess", "sentence"),
    [
        (
            Excess(BoundKind.MAX_INSTANCES, 1200, 64, candidate="wide"),
            "candidate wide has 1,200 instances > planning.max_instances of 64; leave it out, or raise that",
        ),
        (
            Excess(BoundKind.MIN_PARALLELISM, 1, 2, "read", plan=PLAN.parallelism),
            "read 1 · work 11 has 1 instance of read < planning.min_parallelism of 2; give more, or lower that",
        ),
    ],
)
def test_an_excess__names_whose_it_is_and_the_remedy(excess: Excess, sentence: str) -> None:
    assert str(BoundError(excess)) == sentence
    assert excess.field == f"planning.{excess.kind}"
