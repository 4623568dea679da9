"""Fluid queues against hand arithmetic."""

import pytest

from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.fluid_queues import FluidNetwork, fluid_network, step
from planner.errors import PlanError

STEP_S = 5.0


def _pair(
    grouping: Grouping = Grouping.SHUFFLE,
    *,
    slow_s: float = 0.5,
    parallelism: int = 2,
    keys: KeyHistogram | None = None,
) -> FluidNetwork:
    """A fast source (1000/s) and a slow reader with selectivity 2 between them: channels are (->fast, fast->slow)."""
    topology = Topology(
        "pair", (Operator("fast"), Operator("slow")), (Stream("fast", "slow", grouping),), engine=Engine.STORM
    )
    profiles = {
        "fast": OperatorProfile("fast", 0.001, {"fast->slow": 2.0}),
        "slow": OperatorProfile("slow", slow_s, keys=keys),
    }
    return fluid_network(topology, profiles, {"fast": 1, "slow": parallelism}, buffer_s=STEP_S)


def test_step__takes_all_that_came_below_capacity() -> None:
    # 3 tuples in 5 s to a source that manages 5000: all 3 leave, doubled by the selectivity.
    done = step(_pair(), [0.0, 0.0], [3.0], STEP_S)
    assert done.taken == [3.0, 0.0]
    assert done.content == [0.0, 6.0]
    assert done.blocked == [False, False]


def test_step__moves_a_tuple_one_operator_at_a_time() -> None:
    # The 6 tuples from before are taken by the reader; the 3 that come now only reach the channel before it.
    done = step(_pair(), [0.0, 6.0], [3.0], STEP_S)
    assert done.taken == [3.0, 6.0]
    assert done.content == [0.0, 6.0]


def test_step__lets_through_what_the_busiest_instance_manages() -> None:
    # Two instances at 0.5 s a tuple manage 2 · 5 / 0.5 = 20 tuples in 5 s; each is then busy for all 5 s.
    done = step(_pair(), [0.0, 100.0], [0.0], STEP_S)
    assert done.taken[1] == pytest.approx(20.0)
    assert done.busiest_s[0] == pytest.approx(5.0)  # operators stand sinks first


def test_step__stops_the_source_when_the_channel_after_it_is_full() -> None:
    # The reader's channel holds what it manages in 5 s: 20. It held 20, took 20, so there is room for 20 / 2 = 10 from
    # the source, of the 50 that wait.
    done = step(_pair(), [40.0, 20.0], [10.0], STEP_S)
    assert done.taken == pytest.approx([10.0, 20.0])
    assert done.content == pytest.approx([40.0, 20.0])
    assert done.blocked == [False, True]


def test_step__while_down_keeps_everything_and_adds_the_arrivals() -> None:
    done = step(_pair(), [1.0, 2.0], [7.0], 0.0)
    assert done.content == [8.0, 2.0]
    assert done.taken == [0.0, 0.0]


def test_step__a_fields_grouped_reader_saturates_at_its_heaviest_instance() -> None:
    # One key has 60 %, the rest is spread over 4 instances: the heaviest gets 0.6 + 0.4 / 4 = 0.7. It manages
    # 5 / 0.5 = 10 tuples in 5 s, so the operator manages 10 / 0.7, not 40.
    network = _pair(Grouping.FIELDS, parallelism=4, keys=KeyHistogram({"hot": 0.6}))
    done = step(network, [0.0, 1000.0], [0.0], STEP_S)
    assert done.taken[1] == pytest.approx(10 / 0.7)
    records = sorted(network.operators[0].instance_records([done.taken[1]]), reverse=True)
    assert records == pytest.approx([10.0] + [0.1 * 10 / 0.7] * 3)


def test_step__every_instance_takes_every_tuple_of_an_all_grouped_stream() -> None:
    # 4 instances do not help: each must take all, so the operator manages 5 / 0.5 = 10 tuples in 5 s.
    network = _pair(Grouping.ALL, parallelism=4)
    done = step(network, [0.0, 1000.0], [0.0], STEP_S)
    assert done.taken[1] == pytest.approx(10.0)
    assert network.operators[0].instance_records([done.taken[1]]) == pytest.approx([10.0] * 4)


def test_step__an_operator_with_two_full_inputs_reads_them_equally() -> None:
    topology = Topology(
        "join",
        (Operator("left"), Operator("right"), Operator("join")),
        (Stream("left", "join"), Stream("right", "join", Grouping.GLOBAL)),
    )
    profiles = {name: OperatorProfile(name, 0.001) for name in ("left", "right")} | {
        "join": OperatorProfile("join", 0.1)
    }
    network = fluid_network(topology, profiles, {"left": 1, "right": 1, "join": 2}, buffer_s=STEP_S)
    # All of the right stream and half of the left go to instance 0: 0.1 s · (x + x / 2) = 5 s gives x = 33.3 each.
    done = step(network, [0.0, 0.0, 50.0, 50.0], [0.0, 0.0], STEP_S)
    assert done.taken[2:] == pytest.approx([100 / 3, 100 / 3])
    assert done.busiest_s[0] == pytest.approx(5.0)


def test_fluid_network__refuses_an_operator_without_service_time() -> None:
    with pytest.raises(PlanError, match="service time 0 s of operator 'slow'; give at least"):
        _pair(slow_s=0.0)


def test_fluid_network__refuses_shares_that_do_not_fit_the_parallelism() -> None:
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    profiles = {name: OperatorProfile(name, 1.0) for name in "ab"}
    with pytest.raises(PlanError, match=r"shares .* of stream a->b for 3 instances"):
        fluid_network(topology, profiles, {"a": 1, "b": 3}, buffer_s=5, shares_of=lambda _stream, _count: [0.5, 0.5])
