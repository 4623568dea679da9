"""What fluid queues must hold for any topology, load and parallelism."""

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modeling.evaluate_many import evaluate_many
from modeling.flow.routing import POINTWISE
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clusters.fluid_queues import fluid_network, step

STEP_S = 5.0
# Fluid has no memory of the instance that gave it: under pointwise groupings the simulator deals as if all had given
# alike, where the model knows better. Custom groupings need shares for every parallelism.
GROUPINGS = st.sampled_from([each for each in Grouping if each not in (*POINTWISE, Grouping.CUSTOM)])


@st.composite
def chains(draw: st.DrawFn) -> tuple[Topology, Profiles, dict[str, int]]:
    """A chain of up to four operators, with one branch where it is long enough."""
    names = [f"o{i}" for i in range(draw(st.integers(1, 4)))]
    edges = list(pairwise(names))
    if len(names) == 4 and draw(st.booleans()):
        edges[-1] = ("o1", "o3")
    streams = tuple(Stream(a, b, draw(GROUPINGS)) for a, b in edges)
    topology = Topology("chain", tuple(Operator(name) for name in names), streams)
    selectivity = {stream.name: draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])) for stream in streams}
    profiles = {
        name: OperatorProfile(
            name,
            draw(st.floats(0.001, 2.0)),
            {s.name: selectivity[s.name] for s in topology.outputs(name)},
        )
        for name in names
    }
    return topology, profiles, {name: draw(st.integers(1, 5)) for name in names}


@given(chains(), st.lists(st.tuples(st.floats(0, 500), st.sampled_from([0.0, 1.3, STEP_S])), min_size=1, max_size=40))
def test_step__loses_and_invents_no_tuple(
    chain: tuple[Topology, Profiles, dict[str, int]], steps: list[tuple[float, float]]
) -> None:
    topology, profiles, parallelism = chain
    network = fluid_network(topology, profiles, parallelism, buffer_s=STEP_S)
    content = [0.0] * len(network.channels)
    sent = [0.0] * len(network.channels)
    taken = [0.0] * len(network.channels)
    for arrived, up_s in steps:
        done = step(network, content, [arrived], up_s)
        sent[0] += arrived
        for operator in network.operators:
            received = float(operator.instance_records([done.taken[inlet] for inlet in operator.inlets]).sum())
            for outlet, selectivity in operator.outlets:
                sent[outlet] += received * selectivity
        taken = [total + now for total, now in zip(taken, done.taken, strict=True)]
        content = done.content
        assert all(amount >= 0 for amount in content)
        assert all(busy_s <= up_s * (1 + 1e-9) for busy_s in done.busiest_s)
        assert all(amount <= limit * (1 + 1e-9) for amount, limit in zip(content, network.limit, strict=True))
    for channel in range(len(content)):
        assert sent[channel] == pytest.approx(taken[channel] + content[channel], rel=1e-9, abs=1e-9)


@given(chains(), st.floats(0.1, 0.999))
def test_step__leaves_no_backlog_below_capacity(
    chain: tuple[Topology, Profiles, dict[str, int]], utilisation: float
) -> None:
    topology, profiles, parallelism = chain
    network = fluid_network(topology, profiles, parallelism, buffer_s=STEP_S)
    offered_per_s = _capacity_per_s(topology, profiles, parallelism) * utilisation
    content = [0.0] * len(network.channels)
    for _ in range(20):
        content = step(network, content, [offered_per_s * STEP_S], STEP_S).content
        assert content[0] == pytest.approx(0.0, abs=1e-9 * offered_per_s)


@settings(max_examples=50)
@given(chains(), st.floats(1.1, 5.0))
def test_step__lets_exactly_the_models_throughput_through_above_capacity(
    chain: tuple[Topology, Profiles, dict[str, int]], overload: float
) -> None:
    topology, profiles, parallelism = chain
    network = fluid_network(topology, profiles, parallelism, buffer_s=STEP_S)
    capacity_per_s = _capacity_per_s(topology, profiles, parallelism)
    # A buffer of 5 s before an operator that is e % slower than its input fills in 5 s / e %; until then more gets in.
    content, moved = [0.0] * len(network.channels), True
    for _ in range(3000):
        done = step(network, content, [overload * capacity_per_s * STEP_S], STEP_S)
        changes = zip(content[1:], done.content[1:], network.limit[1:], strict=True)
        moved = any(abs(now - before) > 1e-9 * limit for before, now, limit in changes)
        content = done.content
        if not moved:
            break
    assume(not moved)
    assert done.taken[0] / STEP_S == pytest.approx(capacity_per_s, rel=1e-6)


def _capacity_per_s(topology: Topology, profiles: Profiles, parallelism: dict[str, int]) -> float:
    """Maximum sustainable throughput as the performance model gives it: what gets through of far too much."""
    plan = PhysicalPlan(topology.name, parallelism)
    much = {topology.sources[0]: 1e9}
    return float(evaluate_many(topology, profiles, [plan], much, latency=False).throughput_per_s[0, 0, 0])
