"""The partitions of what a source reads bound how many of its instances work, and load them unevenly."""

import pytest

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.flow.routing import partition_shares
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.least_parallelism import Question, fewest_instances_each
from modeling.remedies import beyond_parallelism

# One instance reads 2500/s.
PROFILES = {
    "orders": OperatorProfile("orders", 0.0004, {"orders->store": 1.0}),
    "store": OperatorProfile("store", 0.00001),
}


def shop(partitions: int | None) -> Topology:
    operators = (Operator("orders", partitions=partitions), Operator("store"))
    return Topology("shop", operators, (Stream("orders", "store"),))


@pytest.mark.parametrize(
    ("instances", "most_per_s"),
    [
        (1, 2500.0),
        (2, 3750.0),  # one of two reads two of three partitions: 2500 are two thirds
        (3, 7500.0),
        (16, 7500.0),  # 13 have nothing to read
    ],
)
def test_capacity__of_a_source_is_that_of_its_busiest_reader_of_partitions(instances: int, most_per_s: float) -> None:
    plan = PhysicalPlan("shop", {"orders": instances, "store": 1})
    estimate = evaluate(shop(3), PROFILES, plan, {"orders": 1000.0})
    assert estimate.mst_per_s["orders"] == pytest.approx(most_per_s)


def test_capacity__without_partitions_grows_with_every_instance() -> None:
    plan = PhysicalPlan("shop", {"orders": 16, "store": 1})
    assert evaluate(shop(None), PROFILES, plan, {"orders": 1000.0}).mst_per_s["orders"] == pytest.approx(40_000)


def test_shares__add_up_to_one_and_idle_instances_have_none() -> None:
    assert partition_shares(5, 3).tolist() == pytest.approx([0.4, 0.4, 0.2])
    assert partition_shares(2, 3).tolist() == [0.5, 0.5, 0.0]


def test_search__gives_a_source_no_instance_that_would_stay_idle() -> None:
    question = Question(shop(3), PROFILES, {"orders": 6000.0}, 1.0, {})
    assert fewest_instances_each([question])[0] == {"orders": 3, "store": 1}
    beyond = Question(shop(3), PROFILES, {"orders": 9000.0}, 1.0, {})
    assert fewest_instances_each([beyond])[0] == "orders"
    assert "it reads 3 partitions and further instances stay idle: add partitions" in beyond_parallelism(
        beyond, {"orders": 3, "store": 1}, "orders"
    )


def test_topology__with_partitions_of_an_operator_that_is_no_source_is_refused() -> None:
    with pytest.raises(ModelError, match="'store' has partitions but is no source"):
        Topology("shop", (Operator("orders"), Operator("store", partitions=3)), (Stream("orders", "store"),))
