"""Fluid queues against hand arithmetic."""

from collections.abc import Mapping

import pytest

from modeling.errors import ModelError
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from planner.clusters.fluid_queues import FluidNetwork, InstanceTotals, Step, fluid_network, step

STEP_S = 5.0


def _network(
    streams: tuple[Stream, ...],
    profiles: tuple[OperatorProfile, ...],
    parallelism: Mapping[str, int],
    *,
    engine: Engine = Engine.FLINK,
    site: Site = NOWHERE,
    packing: tuple[Container, ...] = (),
) -> FluidNetwork:
    topology = Topology("some", tuple(Operator(each.operator) for each in profiles), streams, engine)
    by_name = {each.operator: each for each in profiles}
    return fluid_network(topology, by_name, PhysicalPlan("some", parallelism, packing), site)


def _pair(
    grouping: Grouping = Grouping.SHUFFLE,
    *,
    slow_s: float = 0.5,
    parallelism: int = 2,
    keys: KeyHistogram | None = None,
) -> FluidNetwork:
    """A fast source (1000/s) and a slow reader with selectivity 2 between them: channels are (->fast, fast->slow)."""
    profiles = (OperatorProfile("fast", 0.001, {"fast->slow": 2.0}), OperatorProfile("slow", slow_s, keys=keys))
    streams = (Stream("fast", "slow", grouping),)
    return _network(streams, profiles, {"fast": 1, "slow": parallelism})


def _totals(network: FluidNetwork, done: Step, operator: str) -> InstanceTotals:
    nothing = [0.0] * len(done.taken)
    return next(each for each in network.instances(done.taken, nothing, STEP_S) if each.operator == operator)


def test_step__takes_all_that_came_below_capacity_through_every_operator() -> None:
    # 3 tuples in 5 s to a source that manages 5000: all 3 leave, doubled by the selectivity, for 2 instances at 0.5 s.
    done = step(_pair(), [0.0], [3.0], STEP_S)
    assert done.taken == pytest.approx([3.0, 6.0])
    assert done.content == [0.0]
    assert done.busiest_s == pytest.approx([1.5, 0.003])  # operators stand sinks first
    assert done.blocked == [False, False]


def test_step__stops_the_source_where_the_busiest_instance_after_it_is_full() -> None:
    # Two instances at 0.5 s a tuple manage 2 · 5 / 0.5 = 20 tuples in 5 s: 20 / 2 = 10 from the source, of 50.
    done = step(_pair(), [40.0], [10.0], STEP_S)
    assert done.taken == pytest.approx([10.0, 20.0])
    assert done.content == pytest.approx([40.0])
    assert done.busiest_s == pytest.approx([5.0, 0.01])
    assert done.blocked == [False, True]


def test_step__lets_what_waits_in_with_what_the_arrivals_leave_free() -> None:
    # The source manages 10 in 5 s. 4 arrive, so 6 of the 7 that wait are taken too; then 5 arrive and 1 waits.
    first = step(_pair(), [7.0], [4.0], STEP_S)
    assert first.content == pytest.approx([1.0])
    assert first.blocked == [False, True]
    second = step(_pair(), first.content, [5.0], STEP_S)
    assert second.content == [0.0]
    assert second.taken == pytest.approx([6.0, 12.0])
    assert second.blocked == [False, False]


def test_step__while_down_keeps_everything_and_adds_the_arrivals() -> None:
    done = step(_pair(), [1.0], [7.0], 0.0)
    assert done.content == [8.0]
    assert done.taken == [0.0, 0.0]


def test_step__a_fields_grouped_reader_saturates_at_its_heaviest_instance() -> None:
    # Flink gives "storm" to instance 1 of 4 and "heron" to instance 3. The busiest gets 60 % and manages 5 / 0.5 = 10
    # tuples in 5 s, so the operator manages 10 / 0.6, not 40.
    network = _pair(Grouping.FIELDS, parallelism=4, keys=KeyHistogram({"storm": 0.6, "heron": 0.4}))
    done = step(network, [0.0], [1000.0], STEP_S)
    assert done.taken[1] == pytest.approx(10 / 0.6)
    assert _totals(network, done, "slow").received == pytest.approx([0.0, 10.0, 0.0, 4 / 0.6])


def test_step__every_instance_takes_every_tuple_of_an_all_grouped_stream() -> None:
    # 4 instances do not help: each must take all, so the operator manages 5 / 0.5 = 10 tuples in 5 s.
    network = _pair(Grouping.ALL, parallelism=4)
    done = step(network, [0.0], [1000.0], STEP_S)
    assert done.taken == pytest.approx([5.0, 10.0])
    assert _totals(network, done, "slow").received == pytest.approx([10.0] * 4)
    assert _totals(network, done, "fast").given == {"fast->slow": pytest.approx([10.0])}


def test_step__an_operator_with_two_full_inputs_slows_both_sources_in_proportion_to_what_arrives() -> None:
    profiles = (OperatorProfile("left", 0.001), OperatorProfile("right", 0.001), OperatorProfile("join", 0.1))
    streams = (Stream("left", "join"), Stream("right", "join", Grouping.GLOBAL))
    network = _network(streams, profiles, {"left": 1, "right": 1, "join": 2})
    # All of the right stream and half of the left go to instance 0: 0.1 s · (x + x / 2) = 5 s gives x = 33.3 each.
    done = step(network, [0.0, 0.0], [50.0, 50.0], STEP_S)
    assert done.taken == pytest.approx([100 / 3] * 4)
    assert done.busiest_s == pytest.approx([5.0, 1 / 30, 1 / 30])
    # Of 120 and 30, 0.1 s · (30 x + 120 x / 2) = 5 s lets 5 / 9 in, whatever waits.
    done = step(network, [1.0, 900.0], [120.0, 30.0], STEP_S)
    assert done.taken[:2] == pytest.approx([120 * 5 / 9, 30 * 5 / 9])
    assert done.content == pytest.approx([1 + 120 * 4 / 9, 900 + 30 * 4 / 9])


def test_step__slows_no_source_that_feeds_nothing_full_except_in_heron() -> None:
    # a manages 50 in 5 s; of 100, half. In Heron backpressure stops every source: b is let in by half too.
    profiles = (OperatorProfile("a", 0.1), OperatorProfile("b", 0.001))
    for engine, of_b in ((Engine.STORM, 10.0), (Engine.HERON, 5.0)):
        done = step(_network((), profiles, {"a": 1, "b": 1}, engine=engine), [0.0, 0.0], [100.0, 10.0], STEP_S)
        assert done.taken == pytest.approx([50.0, of_b])


def test_step__takes_service_times_and_outputs_by_the_stream_that_enters() -> None:
    # Of a 1 ms a tuple and nothing out, of b 5 ms and 2 out: 160 of each a second are .16 + .8 = .96 of one instance.
    join = OperatorProfile(
        "join",
        0.00128,
        stream_service_s={"a->join": 0.001, "b->join": 0.005},
        input_selectivity={"join->end": {"a->join": 0.0, "b->join": 2.0}},
    )
    streams = (Stream("a", "join"), Stream("b", "join"), Stream("join", "end"))
    profiles = (OperatorProfile("a", 0.0), OperatorProfile("b", 0.0), join, OperatorProfile("end", 0.0))
    network = _network(streams, profiles, dict.fromkeys(("a", "b", "join", "end"), 1))
    done = step(network, [0.0, 0.0], [800.0, 800.0], STEP_S)
    assert done.taken == pytest.approx([800.0, 800.0, 800.0, 800.0, 1600.0])
    assert done.busiest_s == pytest.approx([0.0, 4.8, 0.0, 0.0])
    assert _totals(network, done, "join").worked_s == pytest.approx([4.8])
    # At 200 of each it would be 1.2: 5 / 6 get in.
    done = step(network, [0.0, 0.0], [1000.0, 1000.0], STEP_S)
    assert done.taken[:2] == pytest.approx([5000 / 6, 5000 / 6])


def test_step__deals_what_an_instance_gave_to_the_instances_that_read_it() -> None:
    # a deals 3/4 and 1/4 to the instances of b, and these one to one to c: the first of c is full at 3/4 · x · 0.1 = 1.
    streams = (Stream("a", "b", Grouping.CUSTOM, shares=(0.75, 0.25)), Stream("b", "c", Grouping.FORWARD))
    profiles = (OperatorProfile("a", 0.0), OperatorProfile("b", 0.001), OperatorProfile("c", 0.1))
    network = _network(streams, profiles, {"a": 1, "b": 2, "c": 2})
    done = step(network, [0.0], [1000.0], STEP_S)
    assert done.taken[0] == pytest.approx(5 / 0.075)
    assert _totals(network, done, "c").received == pytest.approx([50.0, 50 / 3])
    assert _totals(network, done, "b").given["b->c"] == pytest.approx([50.0, 50 / 3])


def test_step__a_window_gives_one_tuple_a_key() -> None:
    # 100 keys in windows of a minute, each seen often: 100 / 60 a second, whatever comes.
    window = WindowedOutput(WindowKind.TUMBLING, 60.0, 100)
    profiles = (OperatorProfile("count", 0.001, windowed={"count->end": window}), OperatorProfile("end", 0.3))
    network = _network((Stream("count", "end"),), profiles, {"count": 1, "end": 1})
    for arrivals in (1000.0, 4000.0):
        done = step(network, [0.0], [arrivals], STEP_S)
        assert done.taken == pytest.approx([arrivals, 5 * 100 / 60])
        assert done.busiest_s[0] == pytest.approx(0.3 * 5 * 100 / 60)
        assert _totals(network, done, "count").given["count->end"] == pytest.approx([5 * 100 / 60])


def test_step__a_window_that_its_reader_cannot_follow_slows_the_source() -> None:
    # 10 000 keys seen once a minute or less: x a second give (10 000 / 60) · (1 - exp(-x · 60 / 10 000)). The reader
    # manages 10 a second: x = -ln(1 - 10 · 60 / 10 000) · 10 000 / 60 = 10.3126.
    window = WindowedOutput(WindowKind.TUMBLING, 60.0, 10_000)
    profiles = (OperatorProfile("count", 0.001, windowed={"count->end": window}), OperatorProfile("end", 0.1))
    network = _network((Stream("count", "end"),), profiles, {"count": 1, "end": 1})
    for content, arrivals in ((0.0, 500.0), (500.0, 5.0)):
        done = step(network, [content], [arrivals], STEP_S)
        assert done.taken == pytest.approx([5 * 10.3126, 50.0], rel=1e-5)
        assert done.blocked == [False, True]


def test_step__instances_take_longer_the_more_they_are_and_on_slow_nodes() -> None:
    # Four instances of an operator that scales as p^.5 take 0.1 · 4^.5 = 0.2 s: 20 a second in all. On a node half as
    # fast, the last takes 0.4 s: it is full at 10 a second in all, a quarter of them its own.
    profiles = (OperatorProfile("a", 0.1, efficiency=ScaleEfficiency(exponent=0.5)),)
    everywhere = _network((), profiles, {"a": 4})
    assert step(everywhere, [0.0], [1000.0], STEP_S).taken == pytest.approx([100.0])
    packing = tuple(
        Container(at, (Instance("a", at),), node) for at, node in enumerate(("quick", "quick", "quick", "slow"))
    )
    site = Site(service_factor={"slow": 2.0, "quick": 1.0})
    placed = _network((), profiles, {"a": 4}, site=site, packing=packing)
    done = step(placed, [0.0], [1000.0], STEP_S)
    assert done.taken == pytest.approx([50.0])
    assert _totals(placed, done, "a").worked_s == pytest.approx([2.5, 2.5, 2.5, 5.0])


def test_step__a_source_that_polls_gets_no_more_than_it_asks_for() -> None:
    # 20 every 0.1 s are 200 a second: full at that, though it works only 0.001 · 1000 of the 5 seconds.
    network = _network((), (OperatorProfile("a", 0.001, polling=Polling(0.1, 20)),), {"a": 1})
    done = step(network, [0.0], [2000.0], STEP_S)
    assert done.taken == pytest.approx([1000.0])
    assert done.busiest_s == pytest.approx([5.0])
    assert _totals(network, done, "a").worked_s == pytest.approx([1.0])


def test_step__instances_in_one_container_share_its_cores() -> None:
    # Two instances at 0.1 s on one core manage 10 a second together, not 20.
    packing = (Container(0, (Instance("a", 0), Instance("a", 1))),)
    profiles = (OperatorProfile("a", 0.1),)
    network = _network((), profiles, {"a": 2}, site=Site(ContainerSize(cores=1.0)), packing=packing)
    assert step(network, [0.0], [1000.0], STEP_S).taken == pytest.approx([50.0])


def test_step__an_operator_that_takes_no_time_bounds_nothing() -> None:
    done = step(_pair(slow_s=0.0), [0.0], [5000.0], STEP_S)
    assert done.content == [0.0]
    assert done.busiest_s == pytest.approx([0.0, 5.0])


def test_step__lets_all_that_waits_through_operators_that_take_no_time() -> None:
    network = _network((Stream("a", "b"),), (OperatorProfile("a", 0.0), OperatorProfile("b", 0.0)), {"a": 1, "b": 1})
    done = step(network, [1e6], [10.0], STEP_S)
    assert done.content == [0.0]
    assert done.taken == pytest.approx([1e6 + 10, 1e6 + 10])


@pytest.mark.parametrize("waits", [20.0, 1e3, 1e12])
def test_step__takes_what_its_capacity_is_however_much_waits(waits: float) -> None:
    # Two instances of .5 s take 4/s, and the source gives each tuple twice: 2/s, 10 in 5 s.
    done = step(_pair(), [waits], [1.0], STEP_S)
    assert done.taken == pytest.approx([10.0, 20.0])
    assert done.content == pytest.approx([waits + 1 - 10])
    assert done.blocked == [False, True]


def test_fluid_network__refuses_a_parallelism_that_custom_shares_do_not_fit() -> None:
    streams = (Stream("a", "b", Grouping.CUSTOM, shares=(0.5, 0.5)),)
    with pytest.raises(
        ModelError, match=r"parallelism 3 of operator 'b', to whose instances stream a->b gives 2 share"
    ):
        _network(streams, (OperatorProfile("a", 1.0), OperatorProfile("b", 1.0)), {"a": 1, "b": 3})
