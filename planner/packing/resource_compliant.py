"""Heron's ResourceCompliantRRPacking: round robin over the fewest containers that can hold their parts."""

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.physical_plan import Container, Instance
from planner.errors import PlanError
from planner.packing.lower_bound import least_containers
from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import additions, survivors
from planner.packing.workload import Workload


@dataclass(frozen=True)
class ResourceCompliant:
    """Operators in topology order. Starts with the offered number of containers (1 if not given) and adds one until
    every container holds its part, up to the number of instances.
    """

    offer: Offer
    name: ClassVar[str] = "resource_compliant"
    reassigns_all: ClassVar[bool] = False
    reserves_cores: ClassVar[bool] = True

    def pack(self, work: Workload) -> Packing:
        instances = len(work.instances)
        most = min(instances, self.offer.most or instances)
        nodes = _nodes_in_turn(self.offer, work, most)
        first = min(self.offer.containers or 1, instances)
        for count in range(max(first, least_containers(self.offer, work)), most + 1):
            if self._holds(work, nodes[:count]):
                return _assigned(work, nodes[:count])
        raise PlanError(
            f"{most} containers, the maximum, cannot hold the round robin packing; allow more, give larger ones, or "
            "pack with first_fit_decreasing"
        )

    def repack(self, running: Packing, work: Workload) -> Packing:
        """Removals, then additions in turn over containers with room, after opening as many as the additional volume
        needs. Containers that stay empty are dropped.
        """
        left, added = survivors(running, work), additions(running, work, work.topology.order)
        if not added:
            return OpenContainers(self.offer, work, left).packing()
        lacking = least_containers(self.offer, work) - len(left)
        further = max(self._further(running, work), lacking)
        while True:
            filled = OpenContainers(self.offer, work, left)
            for _ in range(further):
                if not filled.full:
                    filled.open()
            stuck = _in_turns(filled, added)
            if stuck is None:
                return filled.packing()
            filled.open_for(stuck)  # raises PlanError if no available node is fast enough
            further += 1

    def _holds(self, work: Workload, nodes: list[str]) -> bool:
        turn = np.arange(len(work.instances)) % len(nodes)
        if self.offer.max_instances is not None and ceil(turn.size / len(nodes)) > self.offer.max_instances:
            return False
        used = np.stack([np.bincount(turn, column, len(nodes)) for column in work.sizes.T], axis=1)
        used[:, 0] *= np.array([self.offer.factor(node) for node in nodes])
        return bool((used <= self.offer.room * (1 + 1e-9)).all())

    def _further(self, running: Packing, work: Workload) -> int:
        """Volume that the change adds, in containers as large as the largest running one, padding included."""
        change: Floats = np.zeros(3)
        largest: Floats = np.zeros(3)
        for name, count in work.parallelism.items():
            now = sum(each.operator == name for container in running for each in container.instances)
            change += work.largest[name] * (count - now)
        for container in running:
            held = sum((work.largest[each.operator] for each in container.instances), np.zeros(3))
            largest = np.maximum(largest, held + self.offer.kept)
        whole = np.maximum(change, 0.0) / np.where(largest > 0, largest, np.inf)
        return int(np.ceil(whole - 1e-9).max())


def _in_turns(filled: OpenContainers, positions: list[int]) -> int | None:
    """Put each into the next container in turn with room; returns the first without room."""
    turn = 0
    for at in positions:
        fits = np.roll(filled.fits(at), -turn)
        if not fits.any():
            return at
        number = (turn + int(fits.argmax())) % len(filled)
        filled.put(at, number)
        turn = (number + 1) % len(filled)
    return None


def _nodes_in_turn(offer: Offer, work: Workload, count: int) -> list[str]:
    opened = OpenContainers(offer, work)
    for _ in range(count):
        opened.open()
    return opened.nodes


def _assigned(work: Workload, nodes: list[str]) -> Packing:
    held: list[list[Instance]] = [[] for _ in nodes]
    for turn, instance in enumerate(work.instances):
        held[turn % len(nodes)].append(instance)
    return tuple(Container(id, tuple(each), node) for id, (each, node) in enumerate(zip(held, nodes, strict=True), 1))
