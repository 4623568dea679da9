"""Links between nodes: by what factor the load could grow until one is full."""

import numpy as np

from modeling.flow.hop_delay import node_traffic_mbit_per_s
from modeling.flow.rates import Rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import node_of_container, places_nodes
from modeling.inputs.site import Site
from modeling.inputs.topology import Topology


def link_saturation(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, site: Site
) -> dict[str, float]:
    """By what factor the load could grow until each link between two nodes is full, by its name; empty where nodes,
    network or the size of tuples are not told, and where nothing crosses.

    Each direction has its bandwidth to itself, and pairs do not share links: where they do, this lies high.
    """
    if (
        site.network is None
        or not places_nodes(plan)
        or any(s.name not in site.bytes_per_tuple for s in topology.streams)
    ):
        return {}
    places = node_of_container(plan)
    traffic = node_traffic_mbit_per_s(topology, profiles, plan, rates, places, site.network, site.bytes_per_tuple)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(traffic > 0, site.network.bandwidth_mbit_per_s / traffic, np.inf)
    nodes = site.network.nodes
    return {
        f"network {nodes[first]} → {nodes[second]}": float(room[first, second])
        for first, second in np.argwhere(np.isfinite(room)).tolist()
    }
