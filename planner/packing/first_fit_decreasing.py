"""Heron's FirstFitDecreasingPacking: the largest instances first, each into the first container with room."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import additions, survivors
from planner.packing.workload import Workload


@dataclass(frozen=True)
class FirstFitDecreasing:
    """Sorted by memory, then cores, then topology order; by cores first if memory is unbounded or cores_first
    is set.
    """

    offer: Offer
    cores_first: bool = False
    name: ClassVar[str] = "first_fit_decreasing"
    reassigns_all: ClassVar[bool] = False
    reserves_cores: ClassVar[bool] = True

    def pack(self, work: Workload) -> Packing:
        return self._placed(work, (), range(len(work.instances)))

    def repack(self, running: Packing, work: Workload) -> Packing:
        """Removals, then additions, first into existing containers, including emptied ones."""
        return self._placed(work, survivors(running, work), additions(running, work, work.topology.order))

    def _placed(self, work: Workload, running: Packing, positions: Iterable[int]) -> Packing:
        filled = OpenContainers(self.offer, work, running, self.offer.containers)
        by_cores = self.cores_first or self.offer.site.container.memory_mib is None
        columns = (0, 1) if by_cores else (1, 0)
        sizes = work.sizes

        def decreasing(at: int) -> tuple[float, float, int]:
            return -sizes[at][columns[0]], -sizes[at][columns[1]], at

        for at in sorted(positions, key=decreasing):
            filled.place(at)
        return filled.packing()
