"""Notes on what an estimate leaves out of containers, nodes and links, or covers only roughly."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from modeling.flow.rates import OperatorFlow
from modeling.flow.resources import ContainerEstimate
from modeling.inputs.network import Network
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Topology

MANY_CORES, NEARLY_ALL_CORES = 0.45, 0.9
"""Shares of its cores above which the latency of instances that share a container's was some, and far, too short in
simulations (`benchmarks/queueing.py --graphs`)."""

SHORT_MEAN, SHORT_P95 = 0.15, 0.4
"""Of that share, by how much at most they were too short."""

FAR = 0.2
"""Difference of delays, as a share of all services, from which a p95 was far too short in simulations."""


def of_site(topology: Topology, plan: PhysicalPlan, flows: Sequence[OperatorFlow], site: Site) -> list[str]:
    """What is left out of nodes and links."""
    if (site.network is not None or site.service_factor) and not plan.places_nodes:
        return ["the plan does not name the node of every container: node speeds and network are left out"]
    if site.network is None:
        return []
    at = _nodes(plan, site.network)
    lacking = [
        stream.name
        for stream in topology.streams
        if stream.name not in site.bytes_per_tuple and len({*at[stream.upstream], *at[stream.downstream]}) > 1
    ]
    found = []
    if lacking:
        found.append(f"bytes_per_tuple of {', '.join(lacking)} is unknown: what it takes of links is left out")
    return [*found, *_of_far_nodes(topology, plan, flows, site.network)]


def _of_far_nodes(
    topology: Topology, plan: PhysicalPlan, flows: Sequence[OperatorFlow], network: Network
) -> Iterator[str]:
    """Operators some of whose instances are far from both what they read and what reads them."""
    at = {name: np.array(nodes) for name, nodes in _nodes(plan, network).items()}
    services_s = sum(float(flow.idle_service_s[0].mean()) for flow in flows)
    for name in topology.order:
        before = [network.delay_ms[np.ix_(at[each.upstream], at[name])].mean(axis=0) for each in topology.inputs(name)]
        after = [
            network.delay_ms[np.ix_(at[name], at[each.downstream])].mean(axis=1) for each in topology.outputs(name)
        ]
        if not before or not after:
            continue
        both_ms = np.minimum(np.max(before, axis=0), np.max(after, axis=0))
        if float(np.ptp(both_ms)) / 1e3 >= FAR * services_s > 0:
            far = network.nodes[at[name][int(both_ms.argmax())]]
            yield (
                f"tuples that {name} takes on {far} cross far links to it and from it, others none: latencies take the "
                "two ways as independent, and their p95 was up to two thirds too short (simulated)"
            )


def _nodes(plan: PhysicalPlan, network: Network) -> Mapping[str, list[int]]:
    """The node of each instance, as an index of the network."""
    numbers = {node: number for number, node in enumerate(network.nodes)}
    return {
        name: [numbers[plan.packing[position].node] for position in positions]
        for name, positions in plan.container_positions.items()
    }


def of_cores(
    plan: PhysicalPlan, flows: Sequence[OperatorFlow], site: Site, containers: Mapping[int, ContainerEstimate]
) -> Iterator[str]:
    """What sharing cores does to latencies beyond processor sharing."""
    cores = site.container.cores
    if cores is None or not containers:
        return
    fullest = max(containers.values(), key=lambda each: each.cores)
    if cores != int(cores):
        threads = max(len(each.instances) for each in plan.packing)
        still = f" for up to {100 * (1 - cores / threads):.0f} ms" if threads > cores else ""
        yield (
            f"containers of {cores:g} cores have a quota, of which container {fullest.id} uses "
            f"{fullest.cores / cores:.0%}: Linux grants it in slices of 100 ms, and once a slice is used up all "
            f"instances of a container stand still{still}; latencies leave that out"
        )
    if all(flow.core_wait_s is None for flow in flows):
        return
    crowded = {each.id for each in plan.packing if len(each.instances) > cores}
    shared = [each for each in containers.values() if each.id in crowded and MANY_CORES * cores <= each.cores < cores]
    if shared:
        fullest = max(shared, key=lambda each: each.cores)
        share = fullest.cores / cores
        yield f"container {fullest.id} uses {share:.0%} of its cores: " + (
            "waits for a core there are known within a factor of two"
            if share >= NEARLY_ALL_CORES
            else "its instances wait for cores at the same times, which latencies know in part: against simulations "
            f"the mean was up to {SHORT_MEAN * share:.0%} and the p95 up to {SHORT_P95 * share:.0%} too short"
        )
