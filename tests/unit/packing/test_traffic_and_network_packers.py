"""Packers that look at streams and links, against cases worked out by hand and against the model."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from packing_cases import CHAIN, by_container, loaded_chain, three_nodes

from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.errors import PlanError
from planner.packing.even_spread import EvenSpread
from planner.packing.network_aware import NetworkAware
from planner.packing.offer import Offer
from planner.packing.traffic import stream_traffic, traffic_matrix
from planner.packing.traffic_aware import TrafficAware
from planner.packing.transit import Transit


def test_traffic__is_what_the_model_deals() -> None:
    # 100/s of two a, shuffled over four b: 12.5 each; forwarded from each b to its c: 25
    job = Topology("job", CHAIN.operators, (Stream("a", "b"), Stream("b", "c", Grouping.FORWARD)))
    profiles = {name: OperatorProfile(name, 0.001, {"a->b": 1.0} if name == "a" else {}) for name in "ac"}
    profiles["b"] = OperatorProfile("b", 0.001, {"b->c": 1.0})
    traffic = stream_traffic(job, profiles, PhysicalPlan("job", {"a": 2, "b": 4, "c": 4}), {"a": 100.0})
    assert traffic["a->b"] == pytest.approx(np.full((2, 4), 12.5))
    assert traffic["b->c"] == pytest.approx(25 * np.eye(4))


def test_traffic__of_a_stream_to_all_counts_each_copy() -> None:
    job = Topology("job", (Operator("a"), Operator("b")), (Stream("a", "b", Grouping.ALL),))
    profiles = {"a": OperatorProfile("a", 0.001), "b": OperatorProfile("b", 0.001)}
    profiles["a"] = replace(profiles["a"], selectivity={"a->b": 1.0})
    traffic = stream_traffic(job, profiles, PhysicalPlan("job", {"a": 1, "b": 3}), {"a": 30.0})
    assert traffic["a->b"] == pytest.approx(np.full((1, 3), 30.0))


def test_traffic_aware__puts_pairs_together() -> None:
    # each b sends to its own c alone, a to all: the heaviest pair is b and its c
    work = loaded_chain({"a": 1, "b": 4, "c": 4})
    traffic = {"a->b": np.full((1, 4), 25.0), "b->c": 50.0 * np.eye(4)}
    # 200 MiB each, two in a container
    packing = TrafficAware(Offer(Site(ContainerSize(None, 450.0)))).pack(replace(work, traffic_per_s=traffic))
    together = [{each[0] + each[2] for each in held} for held in by_container(packing).values()]
    # a is the busiest (100/s) and takes the first b with it; the other pairs stay whole
    assert sorted(map(sorted, together)) == [["a0", "b0"], ["b1", "c1"], ["b2", "c2"], ["b3", "c3"], ["c0"]]


def test_traffic_aware__counts_bytes_where_all_are_known() -> None:
    # one b hears from a (heavy tuples) and from c's side as often: with bytes it goes to a, without to whom is heavier
    work = loaded_chain({"a": 1, "b": 1, "c": 1})
    traffic = {"a->b": np.full((1, 1), 10.0), "b->c": np.full((1, 1), 20.0)}
    size = Site(ContainerSize(None, 450.0))
    by_tuples = TrafficAware(Offer(size)).pack(replace(work, traffic_per_s=traffic))
    known = replace(size, bytes_per_tuple={"a->b": 1000.0, "b->c": 10.0})
    by_bytes = TrafficAware(Offer(known)).pack(replace(work, traffic_per_s=traffic))
    assert by_container(by_tuples) == {1: ["b[0]", "c[0]"], 2: ["a[0]"]}
    assert by_container(by_bytes) == {1: ["a[0]", "b[0]"], 2: ["c[0]"]}


def test_traffic_aware__leaves_less_between_containers_than_an_even_spread() -> None:
    work = loaded_chain({"a": 4, "b": 8, "c": 4})
    pairs = {"a->b": np.kron(np.eye(4), np.full((1, 2), 12.5)), "b->c": np.kron(np.eye(4), np.full((2, 1), 12.5))}
    work = replace(work, traffic_per_s=pairs)
    matrix = traffic_matrix(work, {})

    def between(packing: tuple[Container, ...]) -> float:
        home = np.empty(len(work.instances), dtype=int)
        for container in packing:
            home[[work.position[each] for each in container.instances]] = container.id
        return float(matrix[home[:, None] != home[None, :]].sum())

    # one a, its two b and their c in each of four containers: nothing crosses
    assert between(TrafficAware(Offer(containers=4)).pack(work)) == 0
    # executors in turn: a0 b0 b4 c0 in the first worker, of which only b0 belongs to a0, and none to c0 but b0
    assert between(EvenSpread(Offer(containers=4)).pack(work)) > 0


def test_packers_that_need_traffic_or_nodes__say_so() -> None:
    work = replace(loaded_chain({"a": 1, "b": 1, "c": 1}), traffic_per_s={})
    with pytest.raises(PlanError, match="the traffic between instances is unknown; give a load"):
        TrafficAware(Offer()).pack(work)
    with pytest.raises(PlanError, match="the traffic between instances is unknown; give a load"):
        NetworkAware(Offer(three_nodes(), nodes={"n0": 1})).pack(work)
    with pytest.raises(PlanError, match="no nodes are offered; name the nodes"):
        NetworkAware(Offer()).pack(loaded_chain({"a": 1, "b": 1, "c": 1}))


def test_network_aware__leaves_the_slow_and_far_node_alone_where_others_have_room() -> None:
    # 12 of 200 MiB, 7 a container, one container a node: two nodes do
    packing = NetworkAware(Offer(three_nodes(), nodes={"n0": 1, "n1": 1, "n2": 1})).pack(
        loaded_chain({"a": 3, "b": 5, "c": 4})
    )
    assert {container.node for container in packing} == {"n0", "n1"}


def test_network_aware__counts_tuples_under_way_and_in_work() -> None:
    # a on n0, b would be on n0 or n2: 100/s · 4 ms of work is .4, twice that on n2, and 100/s · 5 ms under way there;
    # 100/s · 8000 bits of 100 Mbit/s is .008 of the link
    work = loaded_chain({"a": 1, "b": 1, "c": 1})
    transit = Transit(Offer(three_nodes(bandwidth=100.0), nodes={"n0": 1, "n2": 1}), work)
    transit.put(0, 0)
    assert transit.cost(1) == pytest.approx([0.4, 0.8 + 0.5 + 0.008])


def test_network_aware__overloads_no_link() -> None:
    # one instance fits a node: 100/s · 8000 bits between neighbours are .8 Mbit/s
    work = loaded_chain({"a": 1, "b": 1, "c": 1})
    nodes = {"n0": 1, "n1": 1, "n2": 1}
    narrow, wide = (replace(three_nodes(bandwidth=each), container=ContainerSize(2.0, 250.0)) for each in (0.7, 0.9))
    assert len(NetworkAware(Offer(wide, nodes=nodes)).pack(work)) == 3
    with pytest.raises(PlanError, match=r"b\[0\] overloads a link from each node with room for it \(n1, n2\)"):
        NetworkAware(Offer(narrow, nodes=nodes)).pack(work)


def test_network_aware__tells_of_a_link_that_survivors_overload() -> None:
    # .8 Mbit/s cross from a to b at 100/s, and 1.6 at 200/s
    site = replace(three_nodes(bandwidth=0.9), container=ContainerSize(2.0, 250.0))
    packer, counts = NetworkAware(Offer(site, nodes={"n0": 1, "n1": 1, "n2": 1})), {"a": 1, "b": 1, "c": 1}
    running = packer.pack(loaded_chain(counts))
    assert packer.repack(running, loaded_chain(counts)) == running
    with pytest.raises(
        PlanError, match=r"the instances that stay send 1\.6 Mbit/s, it has 0\.9; give it more bandwidth"
    ):
        packer.repack(running, loaded_chain(counts, 200.0))


@pytest.mark.parametrize("delay_ms", [1.5, 5.0, 50.0])
@pytest.mark.parametrize("counts", [{"a": 2, "b": 2, "c": 2}, {"a": 1, "b": 4, "c": 1}, {"a": 1, "b": 2, "c": 3}])
def test_network_aware__is_as_quick_by_the_model_as_the_best_of_all_placements(
    delay_ms: float, counts: dict[str, int]
) -> None:
    """Six instances on two nodes in all 64 ways, of which those with at most four a node are allowed."""
    site = replace(three_nodes(delay_ms), container=ContainerSize(2.0, 850.0))
    nodes = {"n0": 1, "n2": 1}
    work = loaded_chain(counts)
    profiles = {
        name: OperatorProfile(name, seconds, {out: 1.0} if out else {}, memory_mib=200.0)
        for name, seconds, out in (("a", 0.001, "a->b"), ("b", 0.004, "b->c"), ("c", 0.002, ""))
    }

    def plan(where: tuple[str, ...]) -> PhysicalPlan:
        held = {node: tuple(i for i, at in zip(work.instances, where, strict=True) if at == node) for node in nodes}
        return PhysicalPlan(
            "chain", work.parallelism, tuple(Container(id, held[node], node) for id, node in enumerate(nodes, 1))
        )

    every = [plan(where) for where in product(nodes, repeat=6) if where.count("n0") <= 4 and where.count("n2") <= 4]
    found = PhysicalPlan("chain", work.parallelism, NetworkAware(Offer(site, nodes=nodes)).pack(work))
    many = evaluate_many(CHAIN, profiles, [*every, found], {"a": [100.0]}, site=site)
    assert many.latency is not None
    mean_s = many.latency.mean_s[:, 0]
    # The cost leaves out waits, which a placement hardly changes at this load.
    assert mean_s[-1] <= 1.05 * mean_s[:-1].min()
