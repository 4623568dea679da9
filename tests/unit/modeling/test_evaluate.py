"""evaluate() against hand arithmetic."""

from dataclasses import replace

import ciw
import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.flow.limits import ContainerLimit, OperatorLimit
from modeling.flow.plan_rates import arrival_rates
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.queueing.queues import UNSTABLE

Profiles = dict[str, OperatorProfile]


def test_chain__propagates_saturates_and_names_the_bottleneck(chain: Topology, chain_profiles: Profiles) -> None:
    estimate = evaluate(chain, chain_profiles, PhysicalPlan("chain", {"a": 1, "b": 2, "c": 2}), {"a": 80})
    # a: 80/s · 1 ms = 0.08; b: 40/s each · 10 ms = 0.4; c: 5·80/2 = 200/s each · 4 ms = 0.8
    assert estimate.operators["b"].utilisation == pytest.approx(0.4)
    assert estimate.operators["c"].utilisation == pytest.approx(0.8)
    assert estimate.bottleneck == OperatorLimit("c")
    assert estimate.headroom_factor == pytest.approx(1.25)
    assert estimate.mst_per_s["a"] == pytest.approx(100)
    assert estimate.throughput_per_s["a"] == pytest.approx(80)
    assert estimate.stable


def test_overload__says_unstable_and_lets_through_what_the_bottleneck_can(
    chain: Topology, chain_profiles: Profiles
) -> None:
    estimate = evaluate(chain, chain_profiles, PhysicalPlan("chain", {"a": 1, "b": 2, "c": 2}), {"a": 150})
    assert not estimate.stable
    assert estimate.operators["c"].wait_s == UNSTABLE
    assert estimate.latency_s == UNSTABLE
    assert estimate.throughput_per_s["a"] == pytest.approx(100)
    assert estimate.excess_per_s["a"] == pytest.approx(50)


def test_uneven_diamond__sums_all_inputs_of_the_join(uneven_diamond: Topology) -> None:
    profiles = {n: OperatorProfile(n, 0.001) for n in "sxyzj"}
    profiles["y"] = OperatorProfile("y", 0.001, {"y->z": 3.0})
    rates = arrival_rates(uneven_diamond, profiles, PhysicalPlan("diamond", dict.fromkeys("sxyzj", 1)), {"s": 10})
    # x passes 10, y makes 30 which z passes: 40 into j
    assert rates.operator_per_s("j") == pytest.approx(40)


def test_two_streams_at_60_percent_each__are_120_percent() -> None:
    topology = Topology("t", tuple(Operator(n) for n in "abj"), (Stream("a", "j"), Stream("b", "j")))
    profiles = {"a": OperatorProfile("a", 0), "b": OperatorProfile("b", 0), "j": OperatorProfile("j", 0.01)}
    estimate = evaluate(topology, profiles, PhysicalPlan("t", dict.fromkeys("abj", 1)), {"a": 60, "b": 60})
    assert estimate.operators["j"].utilisation == pytest.approx(1.2)


def test_fields_after_fields__are_each_routed_by_their_own_keys() -> None:
    topology = Topology(
        "t",
        tuple(Operator(n) for n in "abc"),
        (Stream("a", "b", Grouping.FIELDS), Stream("b", "c", Grouping.FIELDS)),
    )
    profiles = {n: OperatorProfile(n, 0.001) for n in "abc"}
    estimate = evaluate(topology, profiles, PhysicalPlan("t", {"a": 1, "b": 4, "c": 12}), {"a": 128})
    # c: 12 does not divide 128 key groups: the busiest instance holds 11 of them, 11/s · 1 ms
    assert estimate.operators["c"].utilisation == pytest.approx(0.011)
    assert estimate.operators["c"].arrival_rate_per_s == pytest.approx(128)


def test_all_grouping__brings_every_replica_the_whole_stream() -> None:
    topology = Topology("t", (Operator("a"), Operator("b")), (Stream("a", "b", Grouping.ALL),))
    profiles = {"a": OperatorProfile("a", 0), "b": OperatorProfile("b", 0.01)}
    one, four = (evaluate(topology, profiles, PhysicalPlan("t", {"a": 1, "b": p}), {"a": 50}) for p in (1, 4))
    # replication does not help: 50/s · 10 ms = 0.5 each, however many
    assert one.operators["b"].utilisation == four.operators["b"].utilisation == pytest.approx(0.5)


def test_backpressure__slows_only_the_sources_that_feed_the_bottleneck_but_all_of_them_in_heron() -> None:
    def topology(engine: Engine) -> Topology:
        streams = (Stream("a", "x"), Stream("b", "y"))
        return Topology("t", tuple(Operator(n) for n in "abxy"), streams, engine)

    profiles = {"a": OperatorProfile("a", 0), "b": OperatorProfile("b", 0)}
    profiles |= {"x": OperatorProfile("x", 0.02), "y": OperatorProfile("y", 0.001)}
    plan, load = PhysicalPlan("t", dict.fromkeys("abxy", 1)), {"a": 100.0, "b": 100.0}
    # x can take 50/s: a is halved; Heron stops every spout alike
    assert evaluate(topology(Engine.FLINK), profiles, plan, load).throughput_per_s == pytest.approx({"a": 50, "b": 100})
    assert evaluate(topology(Engine.HERON), profiles, plan, load).throughput_per_s == pytest.approx({"a": 50, "b": 50})


def test_zero_load__is_idle_and_never_saturates(chain: Topology, chain_profiles: Profiles) -> None:
    estimate = evaluate(chain, chain_profiles, PhysicalPlan("chain", {"a": 1, "b": 1, "c": 1}), {"a": 0})
    assert estimate.headroom_factor == float("inf")
    assert estimate.mst_per_s["a"] == 0
    # nobody waits: 1 + 10 + 4 ms of service
    assert estimate.latency_s == pytest.approx(0.015)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"a": -1}, "not below 0"),
        ({"a": float("nan")}, "finite rate"),
        ({}, "no rate for source 'a'"),
        ({"a": 1, "b": 1}, "'b', which is no source"),
    ],
)
def test_load__that_cannot_be_is_refused(
    chain: Topology, chain_profiles: Profiles, load: dict[str, float], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        evaluate(chain, chain_profiles, PhysicalPlan("chain", {"a": 1, "b": 1, "c": 1}), load)


def test_missing_profile__is_refused_by_name(chain: Topology, chain_profiles: Profiles) -> None:
    del chain_profiles["b"]
    with pytest.raises(ModelError, match="no profile of operator 'b'"):
        evaluate(chain, chain_profiles, PhysicalPlan("chain", {"a": 1, "b": 1, "c": 1}), {"a": 1})


@pytest.mark.slow
def test_tandem_latency__agrees_with_simulation(chain: Topology) -> None:
    """Poisson into three exponential stations in series is exact by Jackson's theorem; simulated within 10 %."""
    profiles = {n: OperatorProfile(n, s) for n, s in (("a", 0.5), ("b", 0.8), ("c", 0.6))}
    profiles["a"] = OperatorProfile("a", 0.5, {"a->b": 1.0})
    estimate = evaluate(chain, profiles, PhysicalPlan("chain", dict.fromkeys("abc", 1)), {"a": 1.0})
    # M/M/1 sojourn s/(1−ρ): 0.5/0.5 + 0.8/0.2 + 0.6/0.4 = 1 + 4 + 1.5
    assert estimate.latency_s == pytest.approx(6.5)
    ciw.seed(1)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(1.0), None, None],
        service_distributions=[ciw.dists.Exponential(1 / s) for s in (0.5, 0.8, 0.6)],
        number_of_servers=[1, 1, 1],
        routing=[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(30_000)
    total: dict[int, float] = {}
    for record in simulation.get_all_records():
        total[record.id_number] = total.get(record.id_number, 0.0) + record.waiting_time + record.service_time
    assert estimate.latency_s == pytest.approx(np.mean(list(total.values())), rel=0.1)


def test_a_source_that_polls__takes_in_what_it_may_ask_for_and_makes_tuples_wait(
    chain: Topology, chain_profiles: dict[str, OperatorProfile]
) -> None:
    # 20 tuples every 0.5 s are 40/s an instance, far below the 1,000/s of its service time
    profiles = {**chain_profiles, "a": replace(chain_profiles["a"], polling=Polling(0.5, 20))}
    plan = PhysicalPlan("chain", {"a": 2, "b": 4, "c": 4})
    polled, pushed = (evaluate(chain, each, plan, {"a": 40}, percentiles=True) for each in (profiles, chain_profiles))
    assert polled.mst_per_s["a"] == pytest.approx(80)
    assert polled.bottleneck == OperatorLimit("a")
    assert polled.latency is not None
    assert pushed.latency is not None
    # half of 0.5 s on average, beside what the fuller source adds
    assert polled.latency.mean_s > pushed.latency.mean_s + 0.25
    with pytest.raises(ModelError, match="at most 0 tuples"):
        Polling(0.5, 0)


def test_a_container_behind_a_window__is_full_where_the_windows_output_fills_it() -> None:
    # a join's output grows with the square of the load: at r of each input, 10 keys and windows of 1 s, r²/10 pairs/s
    topology = Topology(
        "t",
        tuple(Operator(n) for n in "abjc"),
        (Stream("a", "j"), Stream("b", "j"), Stream("j", "c", Grouping.SHUFFLE)),
    )
    profiles = {name: OperatorProfile(name, 0.0) for name in "ab"} | {
        "j": OperatorProfile("j", 0.0, windowed={"j->c": WindowedOutput(WindowKind.JOIN, 1.0, 10)}),
        "c": OperatorProfile("c", 0.001, cpu_s=0.001),
    }
    packing = (
        Container(1, tuple(Instance(name, 0) for name in "abj")),
        Container(2, tuple(Instance("c", index) for index in range(8))),
    )
    plan = PhysicalPlan("t", {"a": 1, "b": 1, "j": 1, "c": 8}, packing)
    told = evaluate(topology, profiles, plan, {"a": 50, "b": 50}, site=Site(ContainerSize(cores=2)))
    # two cores carry 2,000 pairs/s: r² = 20,000
    assert told.bottleneck == ContainerLimit(2)
    assert told.mst_per_s["a"] == pytest.approx(20_000**0.5, rel=1e-6)
