"""Containers and links that fill up, one plan at a time and many at once, against hand arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.limits import ContainerLimit
from modeling.flow.plan_rates import arrival_rates
from modeling.flow.resources import resources
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.latency.stream_delays import plan_delays
from modeling.remedies import excuses
from modeling.rescaling.plan_change import PlanChange
from modeling.rescaling.rescale_model import declared_rescale
from modeling.uncertainty.estimate_intervals import estimate_intervals
from modeling.uncertainty.parameter_draws import parameter_draws
from modeling.uncertainty.violation import violations

Profiles = dict[str, OperatorProfile]

PAIR = Topology("pair", (Operator("read"), Operator("count")), (Stream("read", "count"),))
COSTS = {"read": OperatorProfile("read", 0.001), "count": OperatorProfile("count", 0.004)}
PACKED = PhysicalPlan(
    "pair",
    {"read": 1, "count": 2},
    (
        Container(1, (Instance("read", 0), Instance("count", 0)), "near"),
        Container(2, (Instance("count", 1),), "far"),
    ),
)
TIGHT = Site(ContainerSize(cores=0.2))
"""Container 2 computes 2 ms for each tuple read, container 1 computes 3 ms: full at 200 / 3 a second."""


def test_a_full_container__counts_in_estimates_probabilities_and_intervals_alike() -> None:
    load = {"read": 100.0}
    told = evaluate(PAIR, COSTS, PACKED, load, site=TIGHT)
    assert told.bottleneck == ContainerLimit(1)
    assert told.mst_per_s["read"] == pytest.approx(200 / 3)
    assert told.throughput_per_s["read"] == pytest.approx(200 / 3)
    many = evaluate_many(PAIR, COSTS, [PACKED], {"read": [50.0, 100.0]}, site=TIGHT)
    assert many.headroom_factor[0] == pytest.approx([4 / 3, 2 / 3])
    assert many.throughput_per_s[0, :, 0] == pytest.approx([50, 200 / 3])
    assert [many.bottleneck_of(0, load) for load in (0, 1)] == [ContainerLimit(1)] * 2
    assert many.latency is not None
    assert np.isfinite(many.latency.p95_s[0]).tolist() == [True, False]
    draws = parameter_draws(COSTS, np.random.default_rng(0), 20)
    found = violations(PAIR, COSTS, [PACKED], {"read": [[100.0]]}, 60.0, draws, Targets(max_lag_s=600.0), site=TIGHT)
    assert found.probability["throughput"].tolist() == [1]
    assert found.probability["lag"].tolist() == [0]
    sure = estimate_intervals(PAIR, COSTS, PACKED, load, np.random.default_rng(0), site=TIGHT)
    assert sure.mst_per_s["read"] == pytest.approx((200 / 3, 200 / 3))
    assert sure.stable_share == 0


def test_a_full_container__slows_only_the_sources_that_feed_it() -> None:
    topology = Topology("two", tuple(Operator(n) for n in "abcd"), (Stream("a", "b"), Stream("c", "d")))
    profiles = {name: OperatorProfile(name, 0.001) for name in "abcd"}
    packing = (Container(1, (Instance("b", 0),)), Container(2, tuple(Instance(n, 0) for n in "acd")))
    plan = PhysicalPlan("two", dict.fromkeys("abcd", 1), packing)
    told = evaluate(topology, profiles, plan, {"a": 400.0, "c": 100.0}, site=Site(ContainerSize(cores=0.35)))
    # 400/s · 1 ms of a and 100/s · 2 ms of c in container 2 leave 7 / 12 of both, which container 1 has room for
    assert told.throughput_per_s == pytest.approx({"a": 400 * 7 / 12, "c": 100 * 7 / 12})
    apart = replace(plan, packing=tuple(Container(at, (Instance(name, 0),)) for at, name in enumerate("abcd")))
    told = evaluate(topology, profiles, apart, {"a": 400.0, "c": 100.0}, site=Site(ContainerSize(cores=0.25)))
    assert told.throughput_per_s == pytest.approx({"a": 250, "c": 100})


def test_behind_windows__no_more_is_taken_in_than_is_sustained() -> None:
    topology = Topology("t", tuple(Operator(n) for n in "abt"), (Stream("a", "b"), Stream("b", "t")))
    profiles = {
        "a": OperatorProfile("a", 0.0),
        "b": OperatorProfile("b", 0.0, windowed={"b->t": WindowedOutput(WindowKind.TUMBLING, 10.0, 1000)}),
        "t": OperatorProfile("t", 0.004),
    }
    packing = (Container(1, (Instance("a", 0), Instance("b", 0))), Container(2, (Instance("t", 0),)))
    plan = PhysicalPlan("t", dict.fromkeys("abt", 1), packing)
    # 75 a second of at most 100 fill 0.3 cores: 1 - exp(-r / 100) = 0.75
    sustained = 100 * np.log(4)
    for load in (50.0, 500.0, 3000.0, 100000.0):
        told = evaluate(topology, profiles, plan, {"a": load}, site=Site(ContainerSize(cores=0.3)))
        assert told.mst_per_s["a"] == pytest.approx(sustained, rel=1e-6)
        assert told.throughput_per_s["a"] == pytest.approx(min(load, sustained), rel=1e-6)


def test_links_behind_windows__keep_their_names() -> None:
    topology = Topology("t", tuple(Operator(n) for n in "abst"), (Stream("a", "b"), Stream("a", "s"), Stream("b", "t")))
    window = WindowedOutput(WindowKind.TUMBLING, 10.0, 1000)
    profiles = {name: OperatorProfile(name, 0.0) for name in "ast"}
    profiles["b"] = OperatorProfile("b", 0.0, windowed={"b->t": window})
    packing = tuple(Container(at, (Instance(n, 0),), f"n{at}") for at, n in enumerate("abst"))
    plan = PhysicalPlan("t", dict.fromkeys("abst", 1), packing)
    links = [MeasuredLink(f"n{i}", f"n{j}", 1.0, bandwidth_mbit_per_s=10.0) for i in range(4) for j in range(i)]
    network = measured_network(links, np.random.default_rng(0))
    site = Site(network=network, bytes_per_tuple={"a->b": 0.0, "a->s": 100.0, "b->t": 2000.0})
    for load in (50.0, 1000.0, 5000.0):
        # windows give at most 100/s · 16,000 bits, raw tuples fill 10 Mbit/s at 12,500/s
        assert evaluate(topology, profiles, plan, {"a": load}, site=site).mst_per_s["a"] == pytest.approx(12_500)


def test_slow_nodes__are_known_to_excuses() -> None:
    slow = Site(service_factor={"far": 20.0})
    (why, *_) = excuses(PAIR, COSTS, PACKED, {"read": 100.0}, Targets(), site=slow)
    # 50/s of 80 ms; five instances at 20/s of 80 ms would be full, so nine hold 11.1/s at 89 %
    assert why.value == pytest.approx(4)
    assert why.change == {"count": 9}


def test_a_backlog__is_caught_up_with_after_the_change() -> None:
    change = PlanChange(PhysicalPlan("pair", {"read": 1, "count": 1}), declared_rescale(10.0))
    told = evaluate(PAIR, COSTS, replace(PACKED, packing=()), {"read": 400.0}, change=change, backlog={"read": 1000.0})
    assert told.rescale is not None
    # 10 s of 400/s and what waits, at 500 − 400
    assert told.rescale.backlog == pytest.approx(5000)
    assert told.rescale.catch_up_s == pytest.approx(50)


def test_a_source_without_load__has_nothing_that_waits() -> None:
    told = evaluate(PAIR, COSTS, replace(PACKED, packing=()), {"read": 0.0})
    assert told.time_to_violation_s(180.0, {"read": 5.0}) == float("inf")
    assert told.drain_wait_s({"read": 5.0}) == 0


def test_polling__fills_an_instance_and_does_not_make_it_work() -> None:
    profiles = {**COSTS, "read": replace(COSTS["read"], polling=Polling(0.1, 50))}
    rates = arrival_rates(PAIR, profiles, PACKED, {"read": 250.0}, Site(service_factor={"near": 2.0}))
    # half of the 500/s that it may ask for, whatever its node; 250/s of 2 ms there
    assert rates.busy["read"].tolist() == [0.5]
    quick = arrival_rates(PAIR, profiles, PACKED, {"read": 100.0})
    assert quick.busy["read"].tolist() == [0.2]
    assert resources(PAIR, profiles, PACKED, quick, Site()).cores["read"].tolist() == [0.1]
    told = evaluate(PAIR, profiles, PACKED, {"read": 1.0}, percentiles=True).latency
    assert told is not None
    # half the interval, and hardly more than the services
    assert told.mean_s == pytest.approx(0.05 + 0.001 + 0.004, rel=0.02)


def test_buffers__of_a_whole_stream_fill_at_its_rate() -> None:
    site = Site(bytes_per_tuple={"read->count": 1000.0}, buffer_timeout_s=0.1)
    plan = PhysicalPlan("pair", {"read": 1, "count": 10})
    for grouping, full_s in ((Grouping.ALL, 32768 / 1e7), (Grouping.GLOBAL, 32768 / 1e7), (Grouping.SHUFFLE, 0.032768)):
        topology = replace(PAIR, streams=(Stream("read", "count", grouping),))
        delays = plan_delays(topology, COSTS, plan, {"read": 1e4}, site)
        assert delays["read->count"].mean_s == pytest.approx(full_s / 2)


def test_a_plan__is_the_same_in_any_order_of_its_containers() -> None:
    assert replace(PACKED, packing=PACKED.packing[::-1]).plan_id == PACKED.plan_id


def test_cores_that_instances_use_without_work__are_not_there_for_tuples() -> None:
    # Each of the two instances in container 1 uses .02 cores at any rate: .16 of .2 are left for 3 ms a tuple read.
    resting = {name: replace(profile, idle_cores=0.02) for name, profile in COSTS.items()}
    told = evaluate(PAIR, resting, PACKED, {"read": 40.0}, site=TIGHT)
    assert told.bottleneck == ContainerLimit(1)
    assert told.mst_per_s["read"] == pytest.approx(160 / 3)
    # container 2: .18 of .2 for 2 ms a tuple read
    assert told.other_limits[ContainerLimit(2)] == pytest.approx(0.18 / 0.002 / 40)
    assert told.resources is not None
    # 40/s · 3 ms + 2 · .02
    first = told.resources.containers[1]
    assert (first.cores, first.idle_cores) == pytest.approx((0.16, 0.04))
    assert first.headroom_factor == pytest.approx(told.headroom_factor)
    # 40/s · 5 ms + 3 · .02
    assert told.resources.total_cores == pytest.approx(0.26)
    many = evaluate_many(PAIR, resting, [PACKED], {"read": [40.0]}, site=TIGHT)
    assert many.headroom_factor[0] == pytest.approx([4 / 3])


def test_what_a_container_uses_beside_its_instances__counts_once_however_many_it_holds() -> None:
    # Of .2 cores .04 in container 1, where a tuple read takes 3 ms, and .03 in container 2, where it takes 2 ms.
    resting = {
        "read": replace(COSTS["read"], container_idle_cores=0.04),
        "count": replace(COSTS["count"], container_idle_cores=0.03),
    }
    told = evaluate(PAIR, resting, PACKED, {"read": 40.0}, site=TIGHT)
    assert told.mst_per_s["read"] == pytest.approx(160 / 3)
    # nothing of read is in container 2
    assert told.other_limits[ContainerLimit(2)] == pytest.approx(0.17 / 0.002 / 40)
    assert told.resources is not None
    # 40/s · 5 ms + .04 + .03
    assert told.resources.total_cores == pytest.approx(0.27)
    assert sum(each.cores for each in told.resources.containers.values()) == pytest.approx(0.27)


def test_a_container_whose_instances_use_all_its_cores_without_work__gets_nothing_through() -> None:
    resting = {name: replace(profile, idle_cores=0.1) for name, profile in COSTS.items()}
    told = evaluate(PAIR, resting, PACKED, {"read": 1.0}, site=TIGHT)
    assert told.mst_per_s["read"] == pytest.approx(0.0, abs=1e-3)
    assert told.resources is not None
    assert told.resources.containers[1].slowdown == np.inf


def test_tuples__wait_longer_for_a_core_where_instances_use_some_without_work() -> None:
    # Two threads of .3 share one core and are active a = .3 (1 + a) = 3/7; a third one that uses .4 without work keeps
    # the core busy all the time.
    pair = PhysicalPlan("pair", {"read": 1, "count": 1}, (Container(1, (Instance("read", 0), Instance("count", 0))),))
    alone = {name: OperatorProfile(name, 0.003) for name in COSTS}
    resting = {name: replace(profile, idle_cores=0.15) for name, profile in alone.items()}
    one = Site(ContainerSize(cores=1.0))
    latencies = [evaluate(PAIR, of, pair, {"read": 100.0}, site=one).latency_s for of in (alone, resting)]
    assert latencies[1] > 1.3 * latencies[0]
