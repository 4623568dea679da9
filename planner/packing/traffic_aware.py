"""Heavy streams together: containers are filled one by one with the instance that exchanges most with their contents.

The greedy pairing of traffic-aware schedulers of Storm (Aniello et al. 2013; T-Storm, Xu et al. 2014), with limits on a
container's contents. Traffic within a container is neither serialised nor sent.
"""

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from modeling.arrays import Floats, Ints
from planner.errors import PlanError
from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import additions, survivors
from planner.packing.traffic import traffic_matrix
from planner.packing.workload import Workload


@dataclass(frozen=True)
class TrafficAware:
    """If the offer gives a number of containers, none holds more than an even share of the instances (rounded up).
    Streams are weighted by bytes if the site has bytes_per_tuple of all of them, else by tuples.
    """

    offer: Offer
    name: ClassVar[str] = "traffic_aware"
    reassigns_all: ClassVar[bool] = False
    reserves_cores: ClassVar[bool] = True

    def pack(self, work: Workload) -> Packing:
        return self._grown(work, (), list(range(len(work.instances))))

    def repack(self, running: Packing, work: Workload) -> Packing:
        """Removals; then each addition goes to the container it exchanges most with, if that has room, the rest into
        new ones.
        """
        return self._grown(work, survivors(running, work), additions(running, work, work.topology.order))

    def _grown(self, work: Workload, running: Packing, added: list[int]) -> Packing:
        exchanged = exchange(self.offer, work)
        filled = OpenContainers(self.offer, work, running, self.offer.containers)
        part = ceil(len(work.instances) / self.offer.containers) if self.offer.containers else len(work.instances)
        left = np.array(_joined(filled, exchanged, added, part), dtype=np.int64)
        while left.size:
            heaviest = int(left[np.argmax(exchanged[left].sum(axis=1))])
            number = filled.open_for(heaviest, _same_node_first(self.offer, filled))
            left = _grow(filled, number, exchanged, left, heaviest, part)
        return filled.packing()


def exchange(offer: Offer, work: Workload) -> Floats:
    """Traffic between each two instances, both ways, shape (instances, instances). Raises PlanError without traffic."""
    if work.topology.streams and not work.traffic_per_s:
        raise PlanError("the traffic between instances is unknown; give a load")
    known = offer.site.bytes_per_tuple
    weight = known if all(stream.name in known for stream in work.topology.streams) else {}
    sent = traffic_matrix(work, weight)
    return np.asarray(sent + sent.T)


def _joined(filled: OpenContainers, exchanged: Floats, added: list[int], part: int) -> list[int]:
    """Put additions into running containers, the heaviest first; returns those without room."""
    left: list[int] = []
    if not len(filled):
        return added
    to = np.stack([exchanged[:, held].sum(axis=1) for held in filled.held], axis=1)
    for at in sorted(added, key=lambda at: (-float(exchanged[at].sum()), at)):
        fits = filled.fits(at) & (filled.count < part)
        if not fits.any():
            left.append(at)
            continue
        number = int(np.where(fits, to[at], -1.0).argmax())
        filled.put(at, number)
        to[:, number] += exchanged[:, at]
    return sorted(left)


def _grow(filled: OpenContainers, number: int, exchanged: Floats, left: Ints, first: int, part: int) -> Ints:
    """Fill one container, beginning with `first`; returns the remaining instances. Ties go to the first in order."""
    within = np.zeros(left.size)
    chosen = int(np.flatnonzero(left == first)[0])
    while True:
        at = int(left[chosen])
        filled.put(at, number)
        left, within = np.delete(left, chosen), np.delete(within, chosen)
        if not left.size or filled.count[number] >= part:
            return left
        within = within + exchanged[left, at]
        fits = filled.fitting(number, left)
        if not fits.any():
            return left
        chosen = int(np.where(fits, within, -1.0).argmax())


def _same_node_first(offer: Offer, filled: OpenContainers) -> list[str]:
    """Nodes with room for another container; the last used one first, so that successive containers are near each
    other.
    """
    last = filled.nodes[-1] if filled.nodes else ""
    return sorted(filled.free_nodes, key=lambda node: (node != last, offer.factor(node), node))
