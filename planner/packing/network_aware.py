"""For unequal nodes: places instances where fast nodes and short links keep the fewest tuples in transit and in
service.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modeling.wording import rounded
from planner.errors import PlanError
from planner.packing.node_moves import moved, put, swapped, with_room
from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import additions, survivors
from planner.packing.task_order import in_turns
from planner.packing.transit import Transit
from planner.packing.workload import Workload

SWEEPS = 2
"""Most passes in which every instance may move to a better node; fewer if none does."""


@dataclass(frozen=True)
class NetworkAware:
    """Greedy in R-Storm's order, then improved: single instances move to the cheapest node (see Transit) with room, or
    swap with one on another node; no link is overloaded. Within a node, the first container with room is used.
    """

    offer: Offer
    name: ClassVar[str] = "network_aware"
    reassigns_all: ClassVar[bool] = False
    reserves_cores: ClassVar[bool] = True

    def pack(self, work: Workload) -> Packing:
        return self._placed(work, (), list(range(len(work.instances))))

    def repack(self, running: Packing, work: Workload) -> Packing:
        """Survivors stay on their nodes; new instances are placed, and improved, around them."""
        return self._placed(work, survivors(running, work), additions(running, work, work.topology.order))

    def _placed(self, work: Workload, running: Packing, added: list[int]) -> Packing:
        offer = self.offer
        unknown = sorted({container.node for container in running} - set(offer.nodes))
        if not offer.nodes or unknown:
            what = (
                f"containers run on node {unknown[0]!r}, which is not offered"
                if offer.nodes
                else "no nodes are offered"
            )
            raise PlanError(f"{what}; name the nodes, as a site with links does")
        if work.topology.streams and not work.traffic_per_s:
            raise PlanError("the traffic between instances is unknown; give a load")
        filled = OpenContainers(offer, work, running, offer.containers)
        transit = Transit(offer, work)
        for number, held in enumerate(filled.held):
            for at in held:
                transit.put(at, transit.nodes.index(filled.nodes[number]))
        if over := transit.overloaded():
            raise PlanError(
                f"link from {over[0]} to {over[1]}: the instances that stay send {rounded(over[2], 4)} Mbit/s, it has "
                f"{rounded(over[3], 4)}; give it more bandwidth, lower the load, or pack from scratch"
            )
        order = in_turns(work, added)
        for at in order:
            put(filled, transit, at, *_best(filled, transit, at))
        movable = np.array(order, dtype=np.int64)
        for _ in range(SWEEPS):
            changes = sum(moved(filled, transit, at) for at in order)
            changes += sum(swapped(filled, transit, at, movable) for at in transit.worth_swapping(movable))
            if not changes:
                break
        return filled.packing()


def _best(filled: OpenContainers, transit: Transit, position: int) -> tuple[int, int | None]:
    """The cheapest node, and the container there (None: a new one). Raises PlanError if no node has room, or every one
    with room overloads a link.
    """
    cheapest = np.argsort(transit.cost(position), kind="stable")
    carried, room = transit.carried(position), []
    for node, number in with_room(filled, transit, position, cheapest):
        if carried[node]:
            return node, number
        room.append(node)
    if not room:
        filled.open_for(position)
    names = ", ".join(sorted(transit.nodes[node] for node in room))
    raise PlanError(
        f"{filled.work.instances[position]} overloads a link from each node with room for it ({names}); give nodes "
        "more containers, links more bandwidth, or lower the load"
    )
