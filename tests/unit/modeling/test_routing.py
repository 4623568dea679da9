"""Routing shares: exact where the engine's assignment is known, and always whole."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.key_assignment import flink_instance_of_key
from modeling.operator_profile import KeyHistogram
from modeling.routing import instance_shares
from modeling.topology import Engine, Grouping


@pytest.mark.parametrize(
    ("key", "parallelism", "instance"),
    # printed by Flink 2.3's own KeyGroupRangeAssignment.assignKeyToParallelOperator(key, 128, parallelism)
    [("storm", 4, 1), ("storm", 7, 2), ("heron", 4, 3), ("flink", 7, 5), ("", 4, 2), ("ä", 7, 3), ("word-17", 7, 4)],
)
def test_flink_keys__go_where_flink_sends_them(key: str, parallelism: int, instance: int) -> None:
    assert flink_instance_of_key(key, parallelism) == instance


def test_all__gives_every_instance_the_whole_stream() -> None:
    assert instance_shares(Grouping.ALL, 3).tolist() == [1, 1, 1]


def test_global__gives_the_first_instance_everything() -> None:
    assert instance_shares(Grouping.GLOBAL, 3).tolist() == [1, 0, 0]


def test_fields__without_a_histogram_is_uneven_where_parallelism_does_not_divide_key_groups() -> None:
    # 128 key groups over 12 instances: some hold ⌈128/12⌉ = 11 groups
    assert instance_shares(Grouping.FIELDS, 12).max() == pytest.approx(11 / 128)


def test_fields__puts_a_heavy_key_on_the_instance_that_flink_gives_it_to() -> None:
    shares = instance_shares(Grouping.FIELDS, 4, keys=KeyHistogram({"storm": 0.5}))
    # half the tuples on instance 1, the other half even over 4 × 32 groups
    assert shares.tolist() == pytest.approx([0.125, 0.625, 0.125, 0.125])


def test_fields__of_an_engine_without_known_assignment_is_an_upper_bound() -> None:
    shares = instance_shares(Grouping.FIELDS, 4, engine=Engine.HERON, keys=KeyHistogram({"storm": 0.5}))
    assert shares.max() == pytest.approx(0.5 + 0.5 / 4)


@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.FIELDS, Grouping.GLOBAL, Grouping.FORWARD])
@pytest.mark.parametrize("parallelism", [1, 7, 12, 128])
def test_shares__add_up_to_one_idle_instances_included(grouping: Grouping, parallelism: int) -> None:
    shares = instance_shares(grouping, parallelism)
    assert shares.shape == (parallelism,)
    assert np.sum(shares) == pytest.approx(1)


def test_shares__refuse_more_instances_than_key_groups() -> None:
    with pytest.raises(ModelError, match="129 is not between 1 and max_parallelism 128"):
        instance_shares(Grouping.FIELDS, 129)


def test_key_histogram__refuses_more_than_the_whole() -> None:
    with pytest.raises(ModelError, match=r"add up to 1\.2"):
        KeyHistogram({"a": 0.6, "b": 0.6})
