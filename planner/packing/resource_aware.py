"""R-Storm's rule (Peng et al. 2015): each instance to the nearest container, in free cores and memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import additions, survivors
from planner.packing.task_order import in_turns
from planner.packing.workload import Workload

SAME_NODE, OTHER_NODE = 0.5, 1.0
"""Network distance from the reference container if there is no network in the site; 0 to itself."""


@dataclass(frozen=True)
class ResourceAware:
    """The distance of an instance to a container is Euclidean, in the free share of each bounded resource after placing
    it and in the network distance to the reference, the first container. All resources are hard bounds here; R-Storm
    lets CPU be exceeded.
    """

    offer: Offer
    name: ClassVar[str] = "resource_aware"
    reassigns_all: ClassVar[bool] = False
    reserves_cores: ClassVar[bool] = True

    def pack(self, work: Workload) -> Packing:
        return self._placed(work, (), range(len(work.instances)))

    def repack(self, running: Packing, work: Workload) -> Packing:
        return self._placed(work, survivors(running, work), additions(running, work, work.topology.order))

    def _placed(self, work: Workload, running: Packing, positions: Iterable[int]) -> Packing:
        filled = OpenContainers(self.offer, work, running, self.offer.containers)
        distance: dict[str, float] = {}
        for at in in_turns(work, positions):
            if filled.nodes and not distance:
                distance = self._distances(filled.nodes)
            number = self._nearest(filled, at, distance)
            filled.put(at, filled.open_for(at, self._by_distance(filled, distance)) if number is None else number)
        return filled.packing()

    def _nearest(self, filled: OpenContainers, position: int, distance: Mapping[str, float]) -> int | None:
        """The nearest container with room; None if none has, so that a new one is opened."""
        fits = filled.fits(position)
        if not fits.any():
            return None
        room = self.offer.room
        bounded = np.isfinite(room)
        left = (room - filled.used - filled.size(position))[:, bounded] / room[bounded]
        apart = np.array([0.0, *(distance[node] for node in filled.nodes[1:])])
        squared = (left**2).sum(axis=1) + apart**2
        return int(np.where(fits, squared, np.inf).argmin())

    def _distances(self, running: Sequence[str]) -> dict[str, float]:
        """Of every node from that of the reference container, the first running one."""
        return {node: self._between(running[0], node) for node in {*running, *self.offer.nodes}}

    def _between(self, node: str, other: str) -> float:
        network = self.offer.site.network
        if node == other:
            return SAME_NODE if node else OTHER_NODE
        if network is None or not {node, other} <= set(network.nodes):
            return OTHER_NODE
        farthest = float(network.delay_ms.max())
        share = float(network.delay_ms[network.index[node], network.index[other]]) / farthest if farthest else 1.0
        return SAME_NODE + (OTHER_NODE - SAME_NODE) * share

    def _by_distance(self, filled: OpenContainers, distance: Mapping[str, float]) -> list[str]:
        """Nodes with room for another container, by distance from the reference, then speed."""
        return sorted(filled.free_nodes, key=lambda node: (distance.get(node, 0.0), self.offer.factor(node), node))
