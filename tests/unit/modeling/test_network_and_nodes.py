"""Networks with pairs that were not measured, delays of streams under a packing, and nodes of different speed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.limits import CardLimit, LinkLimit
from modeling.inputs.network import MeasuredLink, Network, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.inputs.vivaldi import vivaldi_coordinates
from modeling.latency.stream_delays import plan_delays

NEAR_FAR = measured_network(
    [
        MeasuredLink("near", "hub", 2.0, 0.5, 1000.0),
        MeasuredLink("far", "hub", 25.0, 10.0, 100.0),
        MeasuredLink("near", "far", 30.0, 8.0, 50.0),
    ],
    np.random.default_rng(0),
)
NODE_OF = {1: "hub", 2: "near", 3: "far"}


def _job(grouping: Grouping) -> tuple[Topology, dict[str, OperatorProfile], PhysicalPlan]:
    """source (one instance on hub) → work (hub, near, near, far); 1 ms a tuple."""
    topology = Topology("job", (Operator("source"), Operator("work")), (Stream("source", "work", grouping),))
    plan = PhysicalPlan(
        "job",
        {"source": 1, "work": 4},
        (
            Container(1, (Instance("source", 0), Instance("work", 0))),
            Container(2, (Instance("work", 1), Instance("work", 2))),
            Container(3, (Instance("work", 3),)),
        ),
    )
    return topology, {name: OperatorProfile(name, 0.001) for name in ("source", "work")}, plan


def _on(nodes: dict[int, str], plan: PhysicalPlan) -> PhysicalPlan:
    return replace(plan, packing=tuple(replace(each, node=nodes[each.id]) for each in plan.packing))


def test_shuffle__takes_as_long_as_its_readers_sit_elsewhere() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    delay = plan_delays(topology, profiles, _on(NODE_OF, plan), {"source": 100.0}, Site(network=NEAR_FAR))[
        "source->work"
    ]
    # quarters to hub (0 ms), near, near (2 ms), far (25 ms)
    assert delay.mean_s == pytest.approx((0 + 2 + 2 + 25) / 4 / 1e3)
    # Σ ¼·(jitter² + (delay − 7.25)²)
    expected = (7.25**2 + 2 * (0.25 + 5.25**2) + 100 + 17.75**2) / 4
    assert delay.variance_s2 == pytest.approx(expected / 1e6)


def test_global__goes_to_the_first_instance_alone() -> None:
    topology, profiles, plan = _job(Grouping.GLOBAL)
    assert plan_delays(topology, profiles, _on(NODE_OF, plan), {"source": 100.0}, Site(network=NEAR_FAR)) == {}


def test_containers_on_one_node__are_crossed_without_delay() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    at_hub = _on(dict.fromkeys(NODE_OF, "hub"), plan)
    assert plan_delays(topology, profiles, at_hub, {"source": 100.0}, Site(network=NEAR_FAR)) == {}


@pytest.mark.parametrize("grouping", [Grouping.RESCALE, Grouping.LOCAL_OR_SHUFFLE])
def test_pointwise_streams__cross_between_the_nodes_of_their_pairs(grouping: Grouping) -> None:
    topology, profiles, plan = _job(grouping)
    delay = plan_delays(topology, profiles, _on(NODE_OF, plan), {"source": 100.0}, Site(network=NEAR_FAR))
    # one sender: RESCALE reaches all of its readers as a shuffle does, Storm's local one that in its own container
    assert delay["source->work"].mean_s == pytest.approx(7.25e-3) if grouping is Grouping.RESCALE else delay == {}


@pytest.mark.parametrize(("grouping", "far_mbit", "near_mbit"), [(Grouping.SHUFFLE, 10, 20), (Grouping.ALL, 40, 80)])
def test_links__carry_what_each_pair_of_nodes_is_sent(grouping: Grouping, far_mbit: float, near_mbit: float) -> None:
    topology, profiles, plan = _job(grouping)
    site = Site(network=NEAR_FAR, bytes_per_tuple={"source->work": 5000.0})
    told = evaluate(topology, profiles, _on(NODE_OF, plan), {"source": 1000.0}, site=site)
    # 1000/s · 5000 B · 8 bit = 40 Mbit/s: a quarter to far over 100, half to near over 1000; to ALL four times that
    assert told.other_limits == pytest.approx({LinkLimit("hub", "far"): 100 / far_mbit})
    no_far = _on({**NODE_OF, 3: "hub"}, plan)
    told = evaluate(topology, profiles, no_far, {"source": 1000.0}, site=site)
    assert told.other_limits == pytest.approx({LinkLimit("hub", "near"): 1000 / near_mbit})


def test_links__are_bounded_by_streams_of_known_size_and_others_that_cross_are_named() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    streams = (*topology.streams, Stream("source", "log"), Stream("work", "sum"))
    whole = replace(topology, operators=(*topology.operators, Operator("log"), Operator("sum")), streams=streams)
    profiles |= {name: OperatorProfile(name, 0.0) for name in ("log", "sum")}
    first = replace(plan.packing[0], instances=(*plan.packing[0].instances, Instance("log", 0), Instance("sum", 0)))
    packed = PhysicalPlan("job", {**plan.parallelism, "log": 1, "sum": 1}, (first, *plan.packing[1:]))
    site = Site(network=NEAR_FAR, bytes_per_tuple={"source->work": 5000.0})
    told = evaluate(whole, profiles, _on(NODE_OF, packed), {"source": 1000.0}, site=site)
    # As above 10 of 100 Mbit/s to far; what source and log, both on hub, say to each other takes no link.
    assert told.other_limits == pytest.approx({LinkLimit("hub", "far"): 100 / 10})
    (note,) = [note for note in told.notes if "bytes_per_tuple" in note]
    assert note == "bytes_per_tuple of work->sum is unknown: what it takes of links is left out"


def test_a_network_card__is_shared_by_all_links_of_its_node() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    site = Site(network=NEAR_FAR, bytes_per_tuple={"source->work": 5000.0})
    on_three = _on(NODE_OF, plan)
    # As above: the hub sends 10 Mbit/s to far and 20 to near, 30 together.
    hub = replace(site, card_mbit_per_s={"hub": 60.0})
    told = evaluate(topology, profiles, on_three, {"source": 1000.0}, site=hub)
    assert told.other_limits == pytest.approx({CardLimit("hub", sends=True): 60 / 30})
    assert str(CardLimit("hub", sends=True)) == "network card of hub, out"
    near = replace(site, card_mbit_per_s={"near": 25.0, "hub": 1000.0})
    told = evaluate(topology, profiles, on_three, {"source": 1000.0}, site=near)
    assert told.other_limits == pytest.approx({CardLimit("near", sends=False): 25 / 20})
    # In bulk the same limit bounds the load.
    many = evaluate_many(topology, profiles, [on_three], {"source": [1000.0, 500.0]}, site=near)
    alone = [
        evaluate(topology, profiles, on_three, {"source": rate}, site=near).headroom_factor for rate in (1000.0, 500.0)
    ]
    assert many.headroom_factor[0].tolist() == pytest.approx(alone)


def test_a_network_card__that_is_wide_changes_nothing() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    site = Site(network=NEAR_FAR, bytes_per_tuple={"source->work": 5000.0})
    wide = replace(site, card_mbit_per_s={"hub": 1e9})
    plain, same = (
        evaluate(topology, profiles, _on(NODE_OF, plan), {"source": 1000.0}, site=each) for each in (site, wide)
    )
    assert (plain.other_limits, plain.headroom_factor) == (same.other_limits, same.headroom_factor)


@pytest.mark.parametrize("mbit", [0.0, -1.0, math.inf])
def test_a_network_card__without_a_bandwidth_is_refused(mbit: float) -> None:
    with pytest.raises(ModelError, match="network card of node 'hub'"):
        Site(card_mbit_per_s={"hub": mbit})


def test_a_slow_node__holds_a_shuffle_up() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    site = Site(service_factor={"far": 8.0, "near": 0.5})
    told = evaluate(topology, profiles, _on(NODE_OF, plan), {"source": 100.0}, site=site)
    # far: 25/s · 8 ms = 0.2; the source: 100/s · 1 ms = 0.1
    assert told.operators["work"].instance_utilisation.tolist() == pytest.approx([0.025, 0.0125, 0.0125, 0.2])
    assert told.headroom_factor == pytest.approx(5)


def test_a_node_that_the_network_lacks__is_refused_alone_and_excused_among_others() -> None:
    topology, profiles, plan = _job(Grouping.SHUFFLE)
    plans = [_on(NODE_OF, plan), _on({**NODE_OF, 3: "moon"}, plan)]
    with pytest.raises(ModelError, match="no node 'moon'"):
        evaluate(topology, profiles, plans[1], {"source": 1.0}, site=Site(network=NEAR_FAR))
    many = evaluate_many(topology, profiles, plans, {"source": 1.0}, site=Site(network=NEAR_FAR))
    assert np.isfinite(many.headroom_factor[0]).all()
    assert "'moon'" in many.excuses[1].reason


def test_network__keeps_what_was_measured_and_takes_the_median_of_several() -> None:
    links = [MeasuredLink("a", "b", ms) for ms in (3.0, 4.0, 50.0)]
    network = measured_network(links, np.random.default_rng(1))
    assert network.delay_ms.tolist() == [[0, 4], [4, 0]]
    assert not network.estimated.any()
    assert network.estimate_error == 0
    # nobody measured these
    assert network.jitter_ms[0, 1] == 0
    assert network.bandwidth_mbit_per_s[0, 1] == math.inf


@pytest.mark.slow
def test_pair__that_was_not_measured_is_estimated_from_the_others() -> None:
    # a 3-4-5 lattice of sites on a plane, one pair left out
    at = {f"n{x}{y}": (3.0 * x, 4.0 * y) for x in range(3) for y in range(3)}
    names = sorted(at)
    links = [
        MeasuredLink(p, q, math.dist(at[p], at[q]), jitter_ms=1.0 if "n00" in (p, q) else 0.2)
        for i, p in enumerate(names)
        for q in names[i + 1 :]
        if (p, q) != ("n00", "n11")
    ]
    network = measured_network(links, np.random.default_rng(2))
    i, j = network.of(["n00", "n11"])
    assert network.estimated[i, j]
    assert int(network.estimated.sum()) == 2
    assert network.estimate_error < 0.1
    assert network.delay_ms[i, j] == pytest.approx(5.0, rel=0.1)
    # the worse of the two nodes: n00 usually has 1 ms
    assert network.jitter_ms[i, j] == 1.0


def test_bandwidth__of_a_pair_not_measured_is_that_of_its_slower_node_at_its_best() -> None:
    links = [
        MeasuredLink("a", "b", 1.0, bandwidth_mbit_per_s=1000.0),
        MeasuredLink("b", "c", 1.0, bandwidth_mbit_per_s=100.0),
        MeasuredLink("c", "d", 1.0, bandwidth_mbit_per_s=80.0),
    ]
    network = measured_network(links, np.random.default_rng(3))
    a, c, d = network.of(["a", "c", "d"])
    assert network.bandwidth_mbit_per_s[a, c] == 100
    assert network.bandwidth_mbit_per_s[a, d] == 80
    # three pairs are a chain: none can be kept out, so nothing tells how good the estimates are
    assert network.estimate_error == math.inf


@pytest.mark.slow
def test_vivaldi__finds_the_height_of_a_node_behind_a_slow_access_link() -> None:
    # seven sites on a plane, and among them one with 20 ms of access link; at the rim its place could stand in for that
    rng = np.random.default_rng(4)
    at = np.vstack([[25.0, 25.0], rng.uniform(0, 50, (7, 2))])
    height = np.array([20.0, 0, 0, 0, 0, 0, 0, 0])
    apart = at[:, None] - at
    measured = np.hypot(apart[..., 0], apart[..., 1]) + height[:, None] + height
    found = vivaldi_coordinates(measured, np.random.default_rng(5))
    assert np.median(found.relative_error) < 0.02
    assert found.height_ms.argmax() == 0
    assert found.height_ms[0] == pytest.approx(20, abs=5)


def test_vivaldi__tells_that_delays_without_a_geometry_fit_badly() -> None:
    # a and b are 1 ms from c, yet 100 ms from each other
    measured = np.array([[0.0, 100.0, 1.0], [100.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert vivaldi_coordinates(measured, np.random.default_rng(6)).relative_error.max() > 0.5


def test_vivaldi__refuses_what_cannot_be_placed() -> None:
    rng = np.random.default_rng(7)
    with pytest.raises(ModelError, match="no link was measured"):
        measured_network([], rng)
    with pytest.raises(ModelError, match="connect only 2 of 4 nodes"):
        measured_network([MeasuredLink("a", "b", 1.0), MeasuredLink("c", "d", 1.0)], rng)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_delay__that_cannot_be_is_refused(value: float) -> None:
    with pytest.raises(ModelError, match="delay_ms"):
        MeasuredLink("a", "b", value)
    with pytest.raises(ModelError, match="give two nodes"):
        MeasuredLink("a", "a", 1.0)
    with pytest.raises(ModelError, match="bandwidth_mbit_per_s"):
        MeasuredLink("a", "b", 1.0, bandwidth_mbit_per_s=value)


def test_network__refuses_matrices_that_do_not_fit() -> None:
    zeros, none = np.zeros((2, 2)), np.zeros((2, 2), dtype=bool)
    with pytest.raises(ModelError, match="delay_ms has shape"):
        Network(("a",), zeros, zeros, zeros, none)
    with pytest.raises(ModelError, match="differs by direction"):
        Network(("a", "b"), np.array([[0.0, 1.0], [2.0, 0.0]]), zeros, zeros, none)
    with pytest.raises(ModelError, match="negative number or NaN"):
        Network(("a", "b"), zeros, zeros - 1, zeros, none)
