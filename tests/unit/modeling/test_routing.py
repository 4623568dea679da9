"""Routing shares: exact where the engine's assignment is known, and always whole."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.flow.key_assignment import flink_instance_of_key
from modeling.flow.routing import routing
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.topology import Engine, Grouping


@pytest.mark.parametrize(
    ("key", "parallelism", "instance"),
    # printed by Flink 2.3's own KeyGroupRangeAssignment.assignKeyToParallelOperator(key, 128, parallelism)
    [("storm", 4, 1), ("storm", 7, 2), ("heron", 4, 3), ("flink", 7, 5), ("", 4, 2), ("ä", 7, 3), ("word-17", 7, 4)],
)
def test_flink_keys__go_where_flink_sends_them(key: str, parallelism: int, instance: int) -> None:
    assert flink_instance_of_key(key, parallelism) == instance


def test_all__gives_every_instance_the_whole_stream() -> None:
    assert routing(Grouping.ALL, 2, 3).shares.tolist() == [1, 1, 1]


def test_global__gives_the_first_instance_everything() -> None:
    assert routing(Grouping.GLOBAL, 2, 3).shares.tolist() == [1, 0, 0]


def test_fields__without_a_histogram_is_uneven_where_parallelism_does_not_divide_key_groups() -> None:
    # 128 key groups over 12 instances: some hold ⌈128/12⌉ = 11 groups
    assert routing(Grouping.FIELDS, 2, 12).shares.max() == pytest.approx(11 / 128)


def test_fields__puts_a_heavy_key_on_the_instance_that_flink_gives_it_to() -> None:
    shares = routing(Grouping.FIELDS, 2, 4, keys=KeyHistogram({"storm": 0.5})).shares
    # half the tuples on instance 1, the other half even over 4 × 32 groups
    assert shares.tolist() == pytest.approx([0.125, 0.625, 0.125, 0.125])


def test_fields__of_an_engine_without_known_assignment_is_an_upper_bound() -> None:
    shares = routing(Grouping.FIELDS, 2, 4, engine=Engine.HERON, keys=KeyHistogram({"storm": 0.5})).shares
    assert shares.max() == pytest.approx(0.5 + 0.5 / 4)


@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.FIELDS, Grouping.GLOBAL, Grouping.FORWARD])
@pytest.mark.parametrize("parallelism", [1, 7, 12, 128])
def test_shares__add_up_to_one_idle_instances_included(grouping: Grouping, parallelism: int) -> None:
    shares = routing(grouping, parallelism, parallelism).shares
    assert shares.shape[-1] == parallelism
    assert shares.sum(axis=-1) == pytest.approx(1)


def test_shares__refuse_more_instances_than_key_groups() -> None:
    with pytest.raises(ModelError, match="129 is not between 1 and max_parallelism 128"):
        routing(Grouping.FIELDS, 2, 129)


def test_key_histogram__refuses_more_than_the_whole() -> None:
    with pytest.raises(ModelError, match=r"add up to 1\.2"):
        KeyHistogram({"a": 0.6, "b": 0.6})


def test_rescale__deals_to_the_own_part_of_the_readers_and_forward_one_to_one() -> None:
    # Flink: reader j of 4 reads writer floor(j x 2 / 4): 0, 0, 1, 1.
    assert routing(Grouping.RESCALE, 2, 4).shares.tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]
    # Writers 0 to 4 of 5 over 2 readers: the first reads 0 and 1, the second 2, 3 and 4.
    assert routing(Grouping.RESCALE, 5, 2).shares.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    assert routing(Grouping.FORWARD, 3, 3).shares.tolist() == np.eye(3).tolist()
    # To another parallelism Flink rebalances: on 2.3, 2 writers gave 3 readers 343, 343 and 342 tuples.
    assert routing(Grouping.FORWARD, 2, 4).shares.tolist() == [[0.25] * 4] * 2
    assert routing(Grouping.FORWARD, 4, 2).shares.tolist() == [[0.5] * 2] * 4


def test_local_or_shuffle__prefers_the_own_worker_in_storm_and_is_a_shuffle_in_heron() -> None:
    where = ([1, 2, 3], [1, 1, 2])
    local = routing(Grouping.LOCAL_OR_SHUFFLE, 3, 3, engine=Engine.STORM, containers=where).shares
    # Worker 1 has two readers, worker 2 one, worker 3 none.
    assert local.tolist() == [[0.5, 0.5, 0], [0, 0, 1], pytest.approx([1 / 3] * 3)]
    plain = routing(Grouping.LOCAL_OR_SHUFFLE, 3, 3, engine=Engine.HERON, containers=where).shares
    assert plain == pytest.approx(np.full((3, 3), 1 / 3))


def test_custom__deals_as_given_and_refuses_another_parallelism() -> None:
    assert routing(Grouping.CUSTOM, 1, 2, shares=(0.25, 0.75)).shares.tolist() == [0.25, 0.75]
    with pytest.raises(ModelError, match="gives 2 shares for 3 instances"):
        routing(Grouping.CUSTOM, 1, 3, shares=(0.25, 0.75))
    with pytest.raises(ModelError, match="add up to 1"):
        routing(Grouping.CUSTOM, 1, 2, shares=(0.25, 0.25))


@pytest.mark.parametrize(
    ("word", "grouping"),
    [
        ("rebalance", Grouping.SHUFFLE),
        ("SHUFFLE", Grouping.SHUFFLE),
        (" Local-or-Shuffle ", Grouping.LOCAL_OR_SHUFFLE),
        ("HASH", Grouping.FIELDS),
        ("broadcast", Grouping.ALL),
        ("lowest", Grouping.GLOBAL),
        ("localOrShuffle", Grouping.LOCAL_OR_SHUFFLE),
        ("direct", Grouping.CUSTOM),
    ],
)
def test_words_of_the_engines__mean_the_same(word: str, grouping: Grouping) -> None:
    assert Grouping(word) is grouping


def test_storm__gives_keys_to_tasks_and_tasks_to_executors() -> None:
    # "a".hashCode() = 97, "b" 98; the list's hash is 31 + that: 128 and 129, of 10 tasks 8 and 9.
    keys = KeyHistogram({"a": 0.6, "b": 0.4})
    shares = routing(Grouping.FIELDS, 1, 3, engine=Engine.STORM, max_parallelism=10, keys=keys).shares
    # Tasks 0 to 3, 4 to 6 and 7 to 9.
    assert shares.tolist() == pytest.approx([0, 0, 1])
    assert routing(Grouping.FIELDS, 1, 3, engine=Engine.STORM, max_parallelism=10, keys=keys).exact


def test_heron__is_exact_with_its_hashes_and_a_bound_without() -> None:
    keys = KeyHistogram({"a": 0.6, "b": 0.4}, {"a": 7, "b": 9})
    exact = routing(Grouping.FIELDS, 1, 4, engine=Engine.HERON, keys=keys)
    # 7 and 9 modulo 4 are 3 and 1.
    assert exact.shares.tolist() == pytest.approx([0, 0.4, 0, 0.6])
    assert exact.exact
    bound = routing(Grouping.FIELDS, 1, 4, engine=Engine.HERON, keys=KeyHistogram({"a": 0.6, "b": 0.4}))
    assert not bound.exact
    assert bound.shares.max() == pytest.approx(0.6 + 0.4 / 4)
