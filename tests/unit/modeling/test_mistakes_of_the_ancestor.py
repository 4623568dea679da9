"""Nine mistakes of an earlier performance model of stream topologies (Caladrius), each as a case to get right."""

import math
from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.by_input import ratios_by_input
from modeling.calibration.calibrated import calibrated
from modeling.calibration.offered_load import offered_load
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.flow.plan_rates import arrival_rates
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.queueing.queues import klb_waits_s


def two_inputs() -> Topology:
    return Topology("t", (Operator("a"), Operator("b"), Operator("join")), (Stream("a", "join"), Stream("b", "join")))


def profiles(**service_s: float) -> dict[str, OperatorProfile]:
    return {name: OperatorProfile(name, seconds) for name, seconds in service_s.items()}


def test_mistake_1__ratios_of_several_inputs_are_fitted_per_input_and_their_streams_are_summed() -> None:
    # 1 out per tuple of a, 3 per tuple of b. The ratio of totals, 2.5 to 1.5 by the mix, holds for no other mix.
    a, b = np.array([100.0, 200, 300, 100]), np.array([300.0, 100, 100, 100])
    apart = ratios_by_input({"a->join": a, "b->join": b}, a + 3 * b)
    assert apart.ratio["a->join"].value == pytest.approx(1)
    assert apart.ratio["b->join"].value == pytest.approx(3)
    # Two streams at 60 % each are 120 %, not 60 %.
    estimate = evaluate(
        two_inputs(),
        profiles(a=0, b=0, join=0.01),
        PhysicalPlan("t", {"a": 1, "b": 1, "join": 1}),
        {"a": 60.0, "b": 60.0},
    )
    assert estimate.operators["join"].utilisation == pytest.approx(1.2)
    assert not estimate.stable


def test_mistake_1__each_input_may_cost_another_time_and_bring_other_numbers_out() -> None:
    topology = Topology(
        "t",
        (Operator("a"), Operator("b"), Operator("join"), Operator("out")),
        (Stream("a", "join"), Stream("b", "join"), Stream("join", "out")),
    )
    known = profiles(a=0, b=0, join=0.001, out=0) | {
        "join": OperatorProfile(
            "join",
            0.001,
            stream_service_s={"b->join": 0.004},
            input_selectivity={"join->out": {"a->join": 1.0, "b->join": 3.0}},
        )
    }
    rates = arrival_rates(topology, known, PhysicalPlan("t", dict.fromkeys(topology.order, 1)), {"a": 100.0, "b": 50.0})
    # 100 x 1 ms + 50 x 4 ms = 0.3 busy; 100 x 1 + 50 x 3 = 250 a second out.
    assert rates.busy["join"].tolist() == pytest.approx([0.3])
    assert rates.stream_per_s["join->out"] == pytest.approx(250)


def test_mistake_1__inputs_that_move_together_are_refused() -> None:
    a, b = np.array([100.0, 200, 300, 400]), np.array([200.0, 400, 600.5, 800])
    apart = ratios_by_input({"a": a, "b": b}, np.array([1.0, 2, 3, 4]))
    assert not apart.ratio
    assert "go up and down together" in apart.why


def test_mistake_2__fields_after_fields_are_routed_by_their_own_keys() -> None:
    topology = Topology(
        "t",
        (Operator("in"), Operator("by user"), Operator("by shop")),
        (Stream("in", "by user", Grouping.FIELDS), Stream("by user", "by shop", Grouping.FIELDS)),
    )
    known = profiles(**{"in": 0.0}) | {
        "by user": OperatorProfile("by user", 0.001, keys=KeyHistogram({"storm": 0.5, "heron": 0.5})),
        "by shop": OperatorProfile("by shop", 0.001, keys=KeyHistogram({"heron": 0.25, "flink": 0.75})),
    }
    plan = PhysicalPlan("t", {"in": 1, "by user": 4, "by shop": 4})
    rates = arrival_rates(topology, known, plan, {"in": 100.0})
    # Flink gives storm, heron and flink to subtasks 1, 3 and 3 of 4 (as its own code does).
    assert rates.instance_per_s["by user"].tolist() == pytest.approx([0, 50, 0, 50])
    assert rates.instance_per_s["by shop"].tolist() == pytest.approx([0, 0, 0, 100])
    assert rates.bounds == ()


def test_mistake_2__all_gives_every_instance_the_whole_stream() -> None:
    topology = Topology("t", (Operator("in"), Operator("rules")), (Stream("in", "rules", Grouping.ALL),))
    rates = arrival_rates(
        topology, profiles(**{"in": 0.0, "rules": 0.001}), PhysicalPlan("t", {"in": 2, "rules": 3}), {"in": 60.0}
    )
    assert rates.instance_per_s["rules"].tolist() == [60, 60, 60]


@pytest.mark.parametrize("engine", list(Engine))
@pytest.mark.parametrize("grouping", [g for g in Grouping if g not in (Grouping.ALL, Grouping.CUSTOM)])
@pytest.mark.parametrize(("upstream", "downstream"), [(1, 1), (3, 5), (5, 3), (4, 4), (2, 6)])
def test_mistake_2__shares_add_up_to_one_whatever_is_idle(
    engine: Engine, grouping: Grouping, upstream: int, downstream: int
) -> None:
    topology = Topology("t", (Operator("in"), Operator("out")), (Stream("in", "out", grouping),), engine)
    known = profiles(**{"in": 0.0}) | {"out": OperatorProfile("out", 0.001, keys=KeyHistogram({"storm": 1.0}))}
    rates = arrival_rates(topology, known, PhysicalPlan("t", {"in": upstream, "out": downstream}), {"in": 90.0})
    assert rates.operator_per_s("out") == pytest.approx(90)


def test_mistake_3__a_diamond_with_unequal_arms_waits_for_all_its_inputs() -> None:
    # Breadth first, `end` comes before `slow 2`, and its 100 by that arm are lost.
    streams = [("in", "end"), ("in", "slow 1"), ("slow 1", "slow 2"), ("slow 2", "end"), ("end", "sink")]
    operators = ("in", "end", "slow 1", "slow 2", "sink")
    topology = Topology("t", tuple(Operator(n) for n in operators), tuple(Stream(a, b) for a, b in streams))
    rates = arrival_rates(
        topology,
        profiles(**dict.fromkeys(operators, 0.001)),
        PhysicalPlan("t", dict.fromkeys(operators, 1)),
        {"in": 100.0},
    )
    assert rates.operator_per_s("sink") == pytest.approx(200)


@pytest.mark.parametrize("load_per_s", [100.0, 120.0])
def test_mistake_4__at_and_beyond_full_use_a_queue_is_unstable_and_has_no_negative_wait(load_per_s: float) -> None:
    assert klb_waits_s(load_per_s * 0.01, 0.01, 1.0, 1.0) == math.inf
    topology = Topology("t", (Operator("in"), Operator("work")), (Stream("in", "work"),))
    estimate = evaluate(
        topology,
        profiles(**{"in": 0.0, "work": 0.01}),
        PhysicalPlan("t", {"in": 1, "work": 1}),
        {"in": load_per_s},
    )
    assert not estimate.stable
    assert estimate.latency_s == estimate.operators["work"].wait_s == math.inf
    assert estimate.excess_per_s["in"] == pytest.approx(load_per_s - 100)


def test_mistake_5__latency_of_a_ladder_of_forks_needs_no_list_of_its_paths() -> None:
    # 60 forks that join again have 2^60 paths.
    operators, streams = ["n0"], []
    for at in range(60):
        operators += [f"l{at}", f"r{at}", f"n{at + 1}"]
        streams += [
            (f"n{at}", f"l{at}"),
            (f"n{at}", f"r{at}"),
            (f"l{at}", f"n{at + 1}"),
            (f"r{at}", f"n{at + 1}"),
        ]
    topology = Topology("t", tuple(Operator(n) for n in operators), tuple(Stream(a, b) for a, b in streams))
    # Each arm gets half of what comes, so that nothing grows.
    known = {
        name: OperatorProfile(
            name, 0.001, {s.name: 0.5 for s in topology.outputs(name) if len(topology.outputs(name)) == 2}
        )
        for name in operators
    }
    estimate = evaluate(topology, known, PhysicalPlan("t", dict.fromkeys(operators, 1)), {"n0": 10.0})
    # 121 services in a row, and hardly a wait at 1 % use.
    assert estimate.latency_s == pytest.approx(0.121, rel=0.02)


def test_mistake_6__the_variance_of_a_tuple_is_not_that_of_minute_means() -> None:
    rng = np.random.default_rng(2)
    times = rng.exponential(0.01, size=(400, 1000))
    means = times.mean(axis=1)
    # The means vary by 1/1000 of what tuples do: (std / mean)² of means would say 0.001.
    assert np.var(means) / np.mean(means) ** 2 < 0.002
    plain = [OperatorSample("in", 0, 60.0, of.sum(), 0.0, 1000.0, {"in->out": 1000.0}) for of in times]
    squared = [replace(s, service_second_moment_s2=float((of**2).mean())) for s, of in zip(plain, times, strict=True)]
    topology = Topology("t", (Operator("in"), Operator("out")), (Stream("in", "out"),))
    # Declared too high, so that what was measured stands.
    known = {name: OperatorProfile(name, 0.01, service_cv2=50.0) for name in ("in", "out")}
    means_alone, exact = (calibrated(topology, each, known).profiles["in"] for each in (plain, squared))
    assert means_alone.service_cv2 == pytest.approx(1.0, rel=0.15)
    assert exact.service_cv2 == pytest.approx(1.0, rel=0.02)
    assert means_alone.service_cv2_interval is not None
    assert exact.service_cv2_interval is not None
    assert means_alone.service_cv2_interval[0] == 0.0
    assert means_alone.service_cv2_interval[1] > exact.service_cv2_interval[1] > 1.0


def test_mistake_7__throughput_under_backpressure_is_a_lower_bound_of_the_demand() -> None:
    def sample(records: float, backpressured_s: float, began_s: float) -> OperatorSample:
        return OperatorSample("in", 0, 10.0, 5.0, backpressured_s, records, {}, began_s)

    held = offered_load([sample(1000, 6.0, 0.0), sample(1100, 5.0, 10.0)], [1000, 1100], 1)
    assert held.censored
    assert held.rate_per_s == pytest.approx(110)
    free = offered_load([sample(1000, 6.0, 0.0), sample(1500, 0.0, 10.0)], [1000, 1500], 1)
    assert (free.censored, free.rate_per_s, free.spans) == (False, 150.0, (1, 2))


def test_mistake_8__figures_of_an_operator_are_totals_and_those_of_its_busiest_instance() -> None:
    topology = Topology("t", (Operator("in"), Operator("count")), (Stream("in", "count", Grouping.FIELDS),))
    known = profiles(**{"in": 0.0}) | {"count": OperatorProfile("count", 0.01, keys=KeyHistogram({"storm": 1.0}))}
    estimate = evaluate(topology, known, PhysicalPlan("t", {"in": 1, "count": 4}), {"in": 80.0})
    # 80 a second in all, every one of them into one instance: 0.8 there, 0.2 on average.
    assert estimate.operators["count"].arrival_rate_per_s == pytest.approx(80)
    assert estimate.operators["count"].utilisation == pytest.approx(0.8)
    assert estimate.mst_per_s["in"] == pytest.approx(100)


def test_mistake_9__more_instances_of_a_skewed_operator_help_only_as_far_as_its_keys_allow() -> None:
    topology = Topology("t", (Operator("in"), Operator("count")), (Stream("in", "count", Grouping.FIELDS),))
    keys = KeyHistogram({"storm": 0.4, **{f"key {number}": 0.6 / 50 for number in range(50)}})
    known = profiles(**{"in": 0.0}) | {"count": OperatorProfile("count", 0.01, keys=keys)}
    most = [
        evaluate(topology, known, PhysicalPlan("t", {"in": 1, "count": count}), {"in": 1.0}).mst_per_s["in"]
        for count in (1, 4, 64)
    ]
    assert most[0] == pytest.approx(100)
    # The heaviest key alone is 0.4 of the stream: no parallelism carries more than 100 / 0.4.
    assert most[0] < most[1] < most[2] <= 250
