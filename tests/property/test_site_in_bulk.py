"""Bulk says what single says, wherever instances sit: packings and sites at random, and a ranking of 500 placements."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import Case, cases
from scipy.stats import spearmanr

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.uncertainty.estimate_intervals import estimate_intervals, evaluate_draws
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws
from modeling.uncertainty.violation import violations

NODES = ("n0", "n1", "n2")


def packed(plan: PhysicalPlan, at: np.random.Generator, nodes: tuple[str, ...] = NODES) -> PhysicalPlan:
    """Every instance in one of four containers, drawn at random; container k is on node k modulo the nodes."""
    held: list[list[Instance]] = [[] for _ in range(4)]
    for operator, count in plan.parallelism.items():
        for index, container in enumerate(at.integers(4, size=count)):
            held[container].append(Instance(operator, index))
    packing = tuple(Container(k, tuple(some), nodes[k % len(nodes)]) for k, some in enumerate(held) if some)
    return replace(plan, packing=packing)


@st.composite
def sites(draw: st.DrawFn, topology: Topology) -> Site:
    """Of unlike nodes, with or without a network, sizes of containers and of tuples, buffers and serialisation."""
    network = None
    if draw(st.booleans()):
        links = [
            MeasuredLink(a, b, draw(st.sampled_from([0.1, 5.0, 40.0])), draw(st.sampled_from([0.0, 2.0])), 1.0)
            for a, b in (("n0", "n1"), ("n0", "n2"), ("n1", "n2"))
        ]
        network = measured_network(links, np.random.default_rng(0))
    names = [stream.name for stream in topology.streams]
    return Site(
        ContainerSize(cores=draw(st.sampled_from([None, 0.05, 1.0]))),
        {node: draw(st.sampled_from([1.0, 0.5, 3.0])) for node in NODES},
        network,
        {name: draw(st.sampled_from([0.0, 100.0, 5000.0])) for name in names} if draw(st.booleans()) else {},
        draw(st.sampled_from([0.0, 0.1])),
        {name: 0.001 for name in names if draw(st.booleans())},
    )


@settings(max_examples=6)
@given(cases(), st.data(), st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_bulk__says_of_placements_what_each_says_alone(case: Case, data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [data.draw(st.sampled_from(case.plans())) for _ in range(3)]
    plans = [packed(plan, rng) for plan in chosen[:2]] + [chosen[2]]
    site = data.draw(sites(case.topology))
    loads = {source: [rate, rate * 0.4] for source, rate in case.load_per_s.items()}
    many = evaluate_many(case.topology, case.profiles, plans, loads, site=site)
    drawn = evaluate_draws(case.topology, case.profiles, plans, loads, ParameterDraws(1), site=site)
    assert many.latency is not None
    assert drawn.latency is not None
    assert np.allclose(drawn.headroom_factor[0], many.headroom_factor, equal_nan=True)
    assert np.allclose(drawn.latency.p95_s[0], many.latency.p95_s)
    for row, plan in enumerate(plans):
        for column in range(2):
            load = {source: rates[column] for source, rates in loads.items()}
            one = evaluate(case.topology, case.profiles, plan, load, site=site)
            used = [one.operators[name].utilisation for name in case.topology.order]
            assert many.utilisation[row, column].tolist() == pytest.approx(used, rel=1e-9, abs=1e-12)
            assert many.headroom_factor[row, column] == pytest.approx(one.headroom_factor, rel=1e-6)
            taken = [one.throughput_per_s[source] for source in case.topology.sources]
            assert many.throughput_per_s[row, column].tolist() == pytest.approx(taken, rel=1e-6, abs=1e-9)
            assert many.latency.mean_s[row, column] == pytest.approx(one.latency_s, rel=1e-6)


def _proposed() -> tuple[Topology, dict[str, OperatorProfile], Site, list[PhysicalPlan]]:
    """500 placements of one parallelism on four unlike nodes, the links between which are of unlike delay."""
    rng = np.random.default_rng(5)
    topology = Topology("t", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("b", "c", Grouping.FIELDS)))
    profiles = {
        "a": OperatorProfile("a", 0.0005),
        "b": OperatorProfile("b", 0.004, service_s_error=0.0002, cpu_s=0.003, cpu_s_error=0.0002),
        "c": OperatorProfile("c", 0.002, service_s_error=0.0001),
    }
    nodes = ("n0", "n1", "n2", "n3")
    links = [
        MeasuredLink(one, other, float(rng.uniform(5, 60)), 2.0, 1000.0)
        for number, one in enumerate(nodes)
        for other in nodes[:number]
    ]
    sizes = {"a->b": 200.0, "b->c": 100.0}
    site = Site(ContainerSize(cores=2.5), {"n1": 1.3, "n2": 1.6}, measured_network(links, rng), sizes, 0.02)
    base = PhysicalPlan("t", {"a": 2, "b": 6, "c": 4})
    return topology, profiles, site, [packed(base, rng, nodes) for _ in range(500)]


@pytest.mark.slow
def test_placements__are_ranked_by_the_joint_probability_as_one_by_one() -> None:
    topology, profiles, site, plans = _proposed()
    rng = np.random.default_rng(1)
    paths = np.array([400.0, 550.0, 700.0])[:, None, None] * np.exp(rng.normal(0, 0.15, (1, 40, 1)))
    draws = parameter_draws(profiles, rng, 40)
    targets = Targets(max_latency_s=0.15, max_lag_s=60.0)
    at_once = violations(topology, profiles, plans, {"a": paths}, 600.0, draws, targets, site=site)
    told = at_once.probability["any"]
    assert told.shape == (500, 3)
    # One by one: each placement alone, every path with its draw as profiles of its own.
    some = range(0, 500, 10)
    service, cpu = draws.parameters.service_factor, draws.parameters.cpu_factor
    missed = np.empty((len(some), 40, 3), dtype=bool)
    for at in range(40):
        drawn = {
            name: replace(
                each,
                service_s=each.service_s * service.get(name, np.ones(40))[at],
                cpu_s=None if each.cpu_s is None else each.cpu_s * cpu.get(name, np.ones(40))[at],
            )
            for name, each in profiles.items()
        }
        for row, number in enumerate(some):
            one = evaluate_many(topology, drawn, [plans[number]], {"a": paths[:, at, 0]}, site=site)
            assert one.latency is not None
            # with one step of 600 s and nothing that waits, the lag grows to 600 s · (utilisation − 1)
            lag_s = np.maximum(0.0, 1 / one.headroom_factor[0] - 1) * 600
            missed[row, at] = ~one.stable[0] | (one.latency.p95_s[0] > 0.15) | (lag_s > 60)
    alone = missed.mean(axis=1)
    assert 0.05 < told[list(some)].mean() < 0.95
    assert spearmanr(told[list(some)].ravel(), alone.ravel()).statistic >= 0.95


def test_a_full_container_of_measured_cpu__is_missed_the_likelier_the_larger_the_load() -> None:
    """Two instances compute 3 ms ± 10 % a tuple in 1.5 cores: full at 500 a second, give or take 50."""
    topology = Topology("t", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    profiles = {
        "a": OperatorProfile("a", 0.0),
        "b": OperatorProfile("b", 0.003, cpu_s=0.003, cpu_s_error=0.0003),
    }
    packing = (Container(1, tuple(Instance("b", at) for at in range(2))), Container(2, (Instance("a", 0),)))
    plan = PhysicalPlan("t", {"a": 1, "b": 2}, packing)
    site = Site(ContainerSize(cores=1.5))
    draws = parameter_draws(profiles, np.random.default_rng(2), 400)
    loads = np.array([400.0, 460.0, 500.0, 540.0])[:, None, None]
    found = violations(topology, profiles, [plan], {"a": loads}, 60.0, draws, Targets(), site=site)
    missed = found.probability["throughput"][0]
    # log-normal of cv .1: P(factor > 500/load), median of the factor e^(-.005); at 400 P(z > 2.29) = .011
    assert missed.tolist() == pytest.approx([0.011, 0.19, 0.48, 0.76], abs=0.03)
    low, high = estimate_intervals(
        topology, profiles, plan, {"a": 400.0}, np.random.default_rng(3), 400, site=site
    ).mst_per_s["a"]
    # 90 %: 500 · e^(±1.645 · .1 + .005)
    assert (low, high) == (pytest.approx(426, rel=0.02), pytest.approx(592, rel=0.02))
