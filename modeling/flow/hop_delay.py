"""Delay between operators under a packing: which part of a stream leaves its container or node, and for how long.

Exact from where instances sit and which share of the stream each sends and receives; it adds to what
`modeling.latency.mean` says of waits and services.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.flow.rates import Rates, stream_dealing
from modeling.inputs.network import Network
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import containers_of, instance_nodes
from modeling.inputs.topology import Grouping, Stream, Topology

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HopDelay:
    """One stream under one packing. crosses_containers, crosses_nodes: probability that a tuple does.

    mean_ms, jitter_ms: network delay of a tuple, and its standard deviation over tuples (which pair of nodes it takes,
    and the jitter there). largest_ms: of the slowest pair that carries anything. Within a node: 0.
    """

    stream: str
    crosses_containers: float
    crosses_nodes: float
    mean_ms: float
    jitter_ms: float
    largest_ms: float


def hop_delays(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    rates: Rates,
    node_of_container: Mapping[int, str],
    network: Network,
) -> dict[str, HopDelay]:
    """Network delay of every stream of a plan with a packing.

    A sender gives out in proportion to what it takes in (`rates`). An ALL stream is told per copy. Serialisation and
    batching (Flink flushes a buffer after 100 ms unless it fills) are not in it.
    Raises ModelError for a plan without a packing, a container without a node and a node that the network lacks.
    """
    container_of, node_of = _places(topology, plan, node_of_container, network)
    delays: dict[str, HopDelay] = {}
    for stream in topology.streams:
        weight = pair_weights(topology, profiles, plan, rates, stream)
        up, down = stream.upstream, stream.downstream
        pair_ms = network.delay_ms[np.ix_(node_of[up], node_of[down])]
        jitter_ms = network.jitter_ms[np.ix_(node_of[up], node_of[down])]
        mean_ms = float((weight * pair_ms).sum())
        variance = float((weight * (jitter_ms**2 + (pair_ms - mean_ms) ** 2)).sum())
        delays[stream.name] = HopDelay(
            stream=stream.name,
            crosses_containers=float(weight[container_of[up][:, None] != container_of[down]].sum()),
            crosses_nodes=float(weight[node_of[up][:, None] != node_of[down]].sum()),
            mean_ms=mean_ms,
            jitter_ms=variance**0.5,
            largest_ms=float(pair_ms[weight > 0].max()),
        )
    return delays


def pair_weights(topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, stream: Stream) -> Floats:
    """The part of a stream's tuples from each sender to each receiver, shape (senders, receivers); adds up to 1."""
    senders = rates.instance_per_s[stream.upstream]
    total = float(senders.sum())
    sends = senders / total if total > 0 else np.full(senders.size, 1 / senders.size)
    receives = stream_dealing(topology, profiles, plan, stream, containers_of(plan)).shares
    weight = sends[:, None] * np.broadcast_to(receives, (senders.size, plan.parallelism[stream.downstream]))
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def node_traffic_mbit_per_s(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    rates: Rates,
    node_of_container: Mapping[int, str],
    network: Network,
    bytes_per_tuple: Mapping[str, float],
) -> Floats:
    """Traffic from node to node, shape (nodes, nodes), rows send; 0 on the diagonal.

    bytes_per_tuple: per stream, as serialised; every stream is to be named.
    """
    _, node_of = _places(topology, plan, node_of_container, network)
    traffic = np.zeros((len(network.nodes), len(network.nodes)))
    for stream in topology.streams:
        size = bytes_per_tuple.get(stream.name, float("nan"))
        if not np.isfinite(size) or size < 0:
            raise ModelError(f"stream {stream.name}: bytes_per_tuple is {size}; give a finite size, not below 0")
        copies = plan.parallelism[stream.downstream] if stream.grouping is Grouping.ALL else 1
        mbit_per_s = rates.stream_per_s[stream.name] * copies * size * 8 / 1e6
        weight = pair_weights(topology, profiles, plan, rates, stream)
        np.add.at(
            traffic, (node_of[stream.upstream][:, None], node_of[stream.downstream][None, :]), weight * mbit_per_s
        )
    np.fill_diagonal(traffic, 0.0)
    return traffic


def _places(
    topology: Topology, plan: PhysicalPlan, node_of_container: Mapping[int, str], network: Network
) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Per operator the container and the node (its position in the network) of each instance."""
    plan.check(topology)
    nodes = {operator: network.of(placed) for operator, placed in instance_nodes(plan, node_of_container).items()}
    containers = {operator: np.array(placed, dtype=np.int64) for operator, placed in containers_of(plan).items()}
    return containers, nodes
