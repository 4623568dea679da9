"""Keys of which only the heaviest are named: the rest falls on instances at random, and that is said."""

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.key_assignment import Unplaced, flink_key_group, key_shares, unplaced
from modeling.flow.routing import routing
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology

KEYS, NAMED, SETS = 400, 20, 400
SHAPES = {
    "alike": np.ones(KEYS),
    "zipf .5": np.arange(1, KEYS + 1) ** -0.5,
    "zipf 1": 1 / np.arange(1, KEYS + 1),
    "log-normal": np.sort(np.exp(np.random.default_rng(1).normal(0, 1, KEYS)))[::-1],
}


def histogram(shape: str, *, named: int, distinct_keys: int | None = None, of: int = 0) -> KeyHistogram:
    """of: the named keys are the same in every set, the others have names of their own."""
    shares = SHAPES[shape] / SHAPES[shape].sum()
    names = [f"heavy {i}" if i < NAMED else f"light {of} {i}" for i in range(named)]
    return KeyHistogram(dict(zip(names, shares.tolist(), strict=False)), distinct_keys=distinct_keys)


@cache
def light_groups() -> npt.NDArray[np.int64]:
    """The key group of every light key of every set, shape (sets, light keys)."""
    return np.array([[flink_key_group(f"light {of} {i}", 128) for i in range(NAMED, KEYS)] for of in range(SETS)])


def busiest(shape: str, parallelism: int) -> npt.NDArray[np.float64]:
    """The true share of the busiest instance, of every set."""
    shares = SHAPES[shape] / SHAPES[shape].sum()
    heavy = np.array([flink_key_group(f"heavy {i}", 128) for i in range(NAMED)])
    groups = np.concatenate([np.broadcast_to(heavy, (SETS, NAMED)), light_groups()], axis=1)
    return np.array([np.bincount(of * parallelism // 128, shares, parallelism).max() for of in groups])


@pytest.mark.parametrize("parallelism", [4, 8, 12])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_busiest_instance__is_as_busy_as_keys_that_are_hashed_make_it_on_average(shape: str, parallelism: int) -> None:
    true = busiest(shape, parallelism)
    error = float(true.std() / SETS**0.5)
    known = key_shares(Engine.FLINK, parallelism, 128, histogram(shape, named=NAMED, distinct_keys=KEYS))
    unknown = key_shares(Engine.FLINK, parallelism, 128, histogram(shape, named=NAMED))
    # Exact where light keys are alike; where they are not the busiest instance has up to 3 % more.
    assert known.max() <= true.mean() + 4 * error
    assert known.max() >= (true.mean() - 4 * error) * (1.0 if shape == "alike" else 0.97)
    assert unknown.max() >= true.mean() - 4 * error


@pytest.mark.parametrize("engine", [Engine.FLINK, Engine.STORM])
@pytest.mark.parametrize("parallelism", [1, 2, 7, 128])
@pytest.mark.parametrize("distinct_keys", [None, 3, 5, 10**9])
def test_shares__add_up_to_one_and_none_is_negative(
    engine: Engine, parallelism: int, distinct_keys: int | None
) -> None:
    shares = key_shares(engine, parallelism, 128, KeyHistogram({"a": 0.3, "b": 0.2}, distinct_keys=distinct_keys))
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()


def test_very_many_light_keys__are_spread_evenly() -> None:
    shares = key_shares(Engine.FLINK, 4, 128, KeyHistogram({"storm": 0.5}, distinct_keys=10**12))
    # half the tuples on instance 1, the other half even over 4 x 32 groups
    assert shares.tolist() == pytest.approx([0.125, 0.625, 0.125, 0.125], abs=1e-6)


def test_keys_that_are_alike__may_be_told_by_their_number_alone() -> None:
    # Two keys on two instances: on one and the same with probability 1/2.
    shares = key_shares(Engine.FLINK, 2, 128, KeyHistogram({}, distinct_keys=2))
    assert shares.max() == pytest.approx(0.75, abs=4 * 0.25 / 1024**0.5)


def test_one_light_key__is_as_heavy_as_can_be() -> None:
    # It falls on the instance of the heavy one with 1/4: .6 + .4 / 4, whatever becomes of the others.
    shares = key_shares(Engine.FLINK, 4, 128, KeyHistogram({"hot": 0.6}))
    assert sorted(shares) == pytest.approx([0.1, 0.1, 0.1, 0.7])


@pytest.mark.parametrize(
    ("keys", "exact"),
    [
        (KeyHistogram({"a": 0.5, "b": 0.5}), True),
        (KeyHistogram({"a": 0.5, "b": 0.4999999}), True),  # rounding
        (KeyHistogram({"a": 0.5, "b": 0.4}, distinct_keys=2), True),  # rounding, as nobody else is there
        (KeyHistogram({"a": 0.5, "b": 0.4}), False),
        (KeyHistogram({"a": 0.5, "b": 0.4}, distinct_keys=40), False),
        (KeyHistogram({}), False),
        (None, False),
    ],
)
def test_routing__is_exact_where_every_key_is_named(keys: KeyHistogram | None, exact: bool) -> None:
    assert routing(Grouping.FIELDS, 1, 4, keys=keys).exact is exact
    assert routing(Grouping.FIELDS, 1, 1, keys=keys).exact


def test_distinct_keys__fewer_than_are_named_are_refused() -> None:
    with pytest.raises(ModelError, match="distinct_keys 1 of 2 named keys"):
        KeyHistogram({"a": 0.1, "b": 0.1}, distinct_keys=1)
    with pytest.raises(ModelError, match="distinct_keys 0"):
        KeyHistogram({}, distinct_keys=0)


@pytest.mark.slow
def test_estimate__with_the_number_of_keys_is_that_of_all_keys_and_names_the_stream() -> None:
    topology = Topology("t", (Operator("in"), Operator("count")), (Stream("in", "count", Grouping.FIELDS),))
    plan = PhysicalPlan("t", {"in": 1, "count": 8})

    def told(keys: KeyHistogram) -> tuple[float, float]:
        profiles = {"in": OperatorProfile("in", 0.0), "count": OperatorProfile("count", 0.01, keys=keys)}
        # Of 800/s that eight could carry together if keys were even, so that the busiest is some .8 busy.
        found = evaluate_many(topology, profiles, [plan], {"in": [500.0]})
        assert found.latency is not None
        bounds = evaluate(topology, profiles, plan, {"in": 500.0}).bounds
        why = Unplaced.NUMBER if keys.distinct_keys is None else Unplaced.CHANCE
        assert bounds == ({} if len(keys.shares) == KEYS else {"in->count": why})
        return 500.0 * float(found.headroom_factor[0, 0]), float(found.latency.mean_s[0, 0]) - 0.01

    every = [told(histogram("zipf .5", named=KEYS, of=of)) for of in range(100)]
    mst_per_s, wait_s = np.mean(every, axis=0)
    known, unknown = (told(histogram("zipf .5", named=NAMED, distinct_keys=number)) for number in (KEYS, None))
    assert known[0] == pytest.approx(mst_per_s, rel=0.02)
    assert known[1] == pytest.approx(wait_s, rel=0.06)
    # A bound on the safe side.
    assert unknown[0] < mst_per_s
    assert unknown[1] > wait_s


def test_bounds__name_what_is_unknown_and_not_what_is_declared() -> None:
    keys = KeyHistogram({"hot": 0.39}, distinct_keys=10)
    assert unplaced(Engine.FLINK, keys) is Unplaced.CHANCE
    assert unplaced(Engine.FLINK, KeyHistogram({"hot": 0.39})) is Unplaced.NUMBER
    assert unplaced(Engine.HERON, keys) is Unplaced.HASHES
    assert unplaced(Engine.FLINK, KeyHistogram({}, distinct_keys=10)) is Unplaced.CHANCE
    assert unplaced(Engine.FLINK, None) is Unplaced.KEYS
