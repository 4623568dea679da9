"""Keys of any type: an engine assigns a key by its hashCode, which is that of its Java type."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.flow.key_assignment import Unplaced, busiest_share_bounds, key_codes, key_shares, unplaced
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology


@pytest.mark.parametrize(
    ("key", "key_type", "group"),
    # printed by Flink 2.3's own KeyGroupRangeAssignment.assignToKeyGroup(key, 128)
    [
        ("0", KeyType.LONG, 94),
        ("1001", KeyType.LONG, 69),
        ("4294967298", KeyType.LONG, 113),
        ("-5", KeyType.LONG, 7),
        ("9007199254740993", KeyType.LONG, 3),
        ("-5", KeyType.INTEGER, 80),
        ("1001", KeyType.INTEGER, 69),
        ("1001", KeyType.STRING, 54),
        ("-5", KeyType.STRING, 105),
    ],
)
def test_a_number__goes_where_flink_sends_a_key_of_its_type(key: str, key_type: KeyType, group: int) -> None:
    shares = key_shares(Engine.FLINK, 128, 128, KeyHistogram({key: 1.0}, key_type=key_type))
    assert shares.argmax() == group
    assert shares[group] == 1.0


def test_a_long_of_storm__is_hashed_within_a_list_of_one_field() -> None:
    # Arrays.deepHashCode of [7]: 31 + 7 = 38, and 38 mod 10 = 8
    keys = KeyHistogram({"7": 1.0}, key_type=KeyType.LONG)
    assert key_shares(Engine.STORM, 10, 10, keys).tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]


def test_a_known_hash__goes_before_the_type() -> None:
    # murmur(0) mod 128 = 94, as of the long 0 above
    keys = KeyHistogram({"(a, b)": 1.0}, {"(a, b)": 0}, key_type=KeyType.OTHER)
    assert key_shares(Engine.FLINK, 128, 128, keys).argmax() == 94
    assert unplaced(Engine.FLINK, keys) is None


def test_numbers_of_undeclared_type__are_nobodys_to_place() -> None:
    keys = KeyHistogram({"1": 0.5, "2": 0.5})
    assert key_codes(keys) == {"1": None, "2": None}
    assert unplaced(Engine.FLINK, keys) is Unplaced.HASHES
    # Two keys of a half each on two instances: together with probability 1/2, so the busiest gets
    # 1/2 · 1 + 1/2 · 1/2 = 3/4 on average.
    assert key_shares(Engine.FLINK, 2, 128, keys) == pytest.approx([0.75, 0.25], abs=0.03)


def test_words_of_undeclared_type__are_strings() -> None:
    words = {"storm": 0.5, "7": 0.5}
    undeclared, declared = KeyHistogram(words), KeyHistogram(words, key_type=KeyType.STRING)
    assert key_shares(Engine.FLINK, 4, 128, undeclared).tolist() == key_shares(Engine.FLINK, 4, 128, declared).tolist()
    assert unplaced(Engine.FLINK, undeclared) is None


def test_bounds_of_the_busiest__cover_nine_of_ten_random_types() -> None:
    shares = 1 / np.arange(1, 101)
    keys = KeyHistogram({str(i): float(each) for i, each in enumerate(shares / shares.sum())}, key_type=KeyType.OTHER)
    bounds = busiest_share_bounds(Engine.FLINK, 4, 128, keys)
    assert bounds is not None
    rng = np.random.default_rng(5)
    drawn = [
        key_shares(
            Engine.FLINK, 4, 128, KeyHistogram(keys.shares, {key: int(rng.integers(2**32)) for key in keys.shares})
        ).max()
        for _ in range(400)
    ]
    within = np.mean([bounds[0] <= each <= bounds[1] for each in drawn])
    # Nine of ten, ± 3 standard errors of √(.9 · .1 / 400) = .015.
    assert 0.85 <= within <= 0.95


def test_strings__have_no_bounds() -> None:
    assert busiest_share_bounds(Engine.FLINK, 4, 128, KeyHistogram({"a": 0.5, "b": 0.5})) is None


@pytest.mark.parametrize(("key", "key_type"), [("2147483648", KeyType.INTEGER), ("a", KeyType.LONG), ("1.5", "long")])
def test_a_key_that_is_no_value_of_its_type__is_refused(key: str, key_type: KeyType) -> None:
    with pytest.raises(ModelError, match="key_type"):
        KeyHistogram({key: 0.5}, key_type=KeyType(key_type))


@pytest.mark.parametrize(("key_type", "noted"), [(None, True), (KeyType.LONG, False), (KeyType.OTHER, True)])
def test_an_estimate__notes_keys_whose_instances_are_unknown(key_type: KeyType | None, noted: bool) -> None:
    topology = Topology("t", (Operator("a"), Operator("b")), (Stream("a", "b", Grouping.FIELDS),))
    keys = KeyHistogram({"1": 0.6, "2": 0.4}, key_type=key_type)
    profiles = {"a": OperatorProfile("a", 0.001), "b": OperatorProfile("b", 0.001, keys=keys)}
    estimate = evaluate(topology, profiles, PhysicalPlan("t", {"a": 1, "b": 2}), {"a": 100.0})
    assert any("declare key_type" in note for note in estimate.notes) == noted
