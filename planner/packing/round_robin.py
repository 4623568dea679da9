"""Heron's RoundRobinPacking: instances assigned round robin to a given number of containers, operator by operator."""

from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

from modeling.wording import count_of
from planner.errors import PlanError
from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import placed_counts
from planner.packing.workload import Workload


@dataclass(frozen=True)
class RoundRobin:
    """Operators with the largest instances (memory, then cores) first. Sizes do not change the order: a container
    without room is an error. As in Heron, more containers than instances raise PlanError too, and instances that need
    the cores of a container's padding get them.
    """

    offer: Offer
    name: ClassVar[str] = "round_robin"
    reassigns_all: ClassVar[bool] = True
    reserves_cores: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "offer", replace(self.offer, yields_cores=True))

    def pack(self, work: Workload) -> Packing:
        return self._assigned(work, self.offer.containers or 1)

    def repack(self, running: Packing, work: Workload) -> Packing:
        """Assigns everything anew, over as many containers as hold no more instances on average than the running ones;
        over another number if the offer gives one.
        """
        placed, asked = sum(placed_counts(running, work).values()), self.offer.containers
        if not placed or (asked is not None and asked != len(running)):
            return self.pack(work)
        return self._assigned(work, ceil(len(work.instances) * len(running) / placed))

    def _assigned(self, work: Workload, count: int) -> Packing:
        if count > len(work.instances):
            raise PlanError(
                f"{count_of(count, 'container')} for {count_of(len(work.instances), 'instance')}; give at most "
                "as many containers as instances"
            )
        filled = OpenContainers(self.offer, work)
        for _ in range(count):
            filled.open()
        order = (at for name in work.by_memory() for at in work.positions(name))
        for turn, at in enumerate(order):
            filled.put(at, turn % count)
        filled.check("the instances assigned to it", "give more containers, or larger ones")
        return filled.packing()
