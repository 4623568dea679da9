"""Properties that hold for every topology, plan and load."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.evaluate import evaluate
from modeling.operator_profile import OperatorProfile
from modeling.physical_plan import PhysicalPlan
from modeling.rates import arrival_rates
from modeling.topology import Grouping, Operator, Stream, Topology

Case = tuple[Topology, dict[str, OperatorProfile], PhysicalPlan, dict[str, float]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random acyclic topology (edges only from earlier to later operators), profiles, plan and load."""
    size = draw(st.integers(2, 6))
    names = [f"o{i}" for i in range(size)]
    pairs = [(a, b) for b in range(1, size) for a in range(b)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    groupings = st.sampled_from([Grouping.SHUFFLE, Grouping.FIELDS, Grouping.GLOBAL])
    streams = tuple(Stream(names[a], names[b], draw(groupings)) for a, b in chosen)
    topology = Topology("random", tuple(Operator(name) for name in names), streams)
    profiles = {
        name: OperatorProfile(
            name,
            draw(st.floats(1e-4, 0.1)),
            {s.name: draw(st.floats(0.1, 3)) for s in streams if s.upstream == name},
        )
        for name in names
    }
    plan = PhysicalPlan("random", {name: draw(st.integers(1, 9)) for name in names})
    load = {source: draw(st.floats(0.1, 100)) for source in topology.sources}
    return topology, profiles, plan, load


@given(cases())
def test_rates__conserve_flow_times_selectivity(case: Case) -> None:
    topology, profiles, plan, load = case
    rates = arrival_rates(topology, profiles, plan, load)
    for stream in topology.streams:
        expected = rates.operator_per_s(stream.upstream) * profiles[stream.upstream].selectivity[stream.name]
        assert rates.stream_per_s[stream.name] == pytest.approx(expected)
    for name in topology.order:
        if topology.inputs(name):
            entering = sum(rates.stream_per_s[stream.name] for stream in topology.inputs(name))
            assert rates.operator_per_s(name) == pytest.approx(entering)


@given(cases(), st.floats(1.0, 5.0))
def test_more_load__never_lowers_utilisation_or_wait(case: Case, factor: float) -> None:
    topology, profiles, plan, load = case
    low = evaluate(topology, profiles, plan, load)
    high = evaluate(topology, profiles, plan, {source: rate * factor for source, rate in load.items()})
    for name in topology.order:
        assert high.operators[name].utilisation >= low.operators[name].utilisation
        assert high.operators[name].wait_s >= low.operators[name].wait_s >= 0


@given(cases(), st.floats(0.2, 5.0))
def test_maximum_sustainable_throughput__depends_on_the_mix_not_on_the_load(case: Case, factor: float) -> None:
    topology, profiles, plan, load = case
    one = evaluate(topology, profiles, plan, load).mst_per_s
    other = evaluate(topology, profiles, plan, {s: rate * factor for s, rate in load.items()}).mst_per_s
    assert other == pytest.approx(one)


@given(cases())
def test_throughput__never_exceeds_what_is_offered_and_saturates_no_instance(case: Case) -> None:
    topology, profiles, plan, load = case
    estimate = evaluate(topology, profiles, plan, load)
    for source, rate in load.items():
        assert 0 < estimate.throughput_per_s[source] <= rate * (1 + 1e-9)
    through = evaluate(topology, profiles, plan, estimate.throughput_per_s)
    assert through.utilisation <= 1 + 1e-6


@given(cases())
def test_doubling_every_shuffled_operator__never_lowers_what_it_sustains(case: Case) -> None:
    topology, profiles, plan, load = case
    wider = PhysicalPlan("random", {name: 2 * count for name, count in plan.parallelism.items()})
    small, large = (evaluate(topology, profiles, p, load) for p in (plan, wider))
    assert large.saturation_scale >= small.saturation_scale * (1 - 1e-9)
