"""Flink: a slot holds one instance of each operator of its slot-sharing group; task managers hold slots."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from modeling.inputs.topology import Topology
from planner.errors import PlanError
from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import placed_counts
from planner.packing.workload import Workload

DEFAULT_GROUP = "default"


@dataclass(frozen=True)
class FlinkSlots:
    """Slot k of a group holds instance k of each of its operators. Slots fill one task manager after the other, or are
    spread over all (`evenly`: taskmanager.load-balance.mode SLOTS). A task manager without room is an error: Flink
    ignores CPU and divides memory among slots.
    """

    offer: Offer
    name: ClassVar[str] = "flink_slots"
    reassigns_all: ClassVar[bool] = False
    reserves_cores: ClassVar[bool] = False

    def pack(self, work: Workload) -> Packing:
        return self._filled(work, {}, ())

    def repack(self, running: Packing, work: Workload) -> Packing:
        """A slot stays where its first instance runs, while that task manager has slots; the highest slots are removed
        first, and new ones fill free slots before new task managers.
        """
        placed_counts(running, work)
        home = {each: container.id for container in running for each in container.instances}
        slots = self._slots(work)
        stay: dict[int, int] = {}
        taken: Counter[int] = Counter()
        for number, slot in enumerate(slots):
            known = [home[each] for at in slot if (each := work.instances[at]) in home]
            if known and taken[known[0]] < self.offer.slots:
                stay[number] = known[0]
                taken[known[0]] += 1
        return self._filled(work, stay, running)

    def _slots(self, work: Workload) -> list[list[int]]:
        """Contents of each slot, group by group in topology order."""
        found: list[list[int]] = []
        for operators in slot_groups(work.topology, self.offer.slot_groups).values():
            for number in range(max(work.parallelism[name] for name in operators)):
                found.append([work.first[name] + number for name in operators if number < work.parallelism[name]])
        return found

    def _filled(self, work: Workload, stay: Mapping[int, int], running: Packing) -> Packing:
        slots = self._slots(work)
        self._check_enough(len(slots))
        emptied = tuple(replace(container, instances=()) for container in running)
        filled = OpenContainers(self.offer, work, emptied, self.offer.containers)
        numbers = {id: number for number, id in enumerate(filled.ids)}
        taken = [0] * len(filled)
        for number, id in stay.items():
            taken[numbers[id]] += 1
            _put(filled, slots[number], numbers[id])
        wanted = self.offer.containers or -(-len(slots) // self.offer.slots)
        for number, slot in enumerate(slots):
            if number in stay:
                continue
            free = [at for at, used in enumerate(taken) if used < self.offer.slots]
            if not free or (self.offer.evenly and len(taken) < wanted and min(taken) > 0):
                free = [filled.open()]
                taken.append(0)
            chosen = min(free, key=lambda at: taken[at]) if self.offer.evenly else free[0]
            taken[chosen] += 1
            _put(filled, slot, chosen)
        filled.check("the slots of it", "give task managers fewer slots, or more of each")
        return filled.packing()

    def _check_enough(self, needed: int) -> None:
        bounds = [bound for bound in (self.offer.containers, self.offer.most) if bound is not None]
        if bounds and needed > min(bounds) * self.offer.slots:
            have, slots = min(bounds), self.offer.slots
            raise PlanError(
                f"{needed} slots are needed, {have} task managers of {slots} have {have * slots}; "
                f"give {-(-needed // self.offer.slots)} task managers, more slots of each, or lower a parallelism"
            )


def slot_groups(topology: Topology, groups: Mapping[str, str]) -> dict[str, list[str]]:
    """Operators by slot-sharing group. Raises PlanError for an unknown operator."""
    if unknown := sorted(set(groups) - set(topology.order)):
        raise PlanError(f"slot groups name the unknown operator {unknown[0]!r}; known are {', '.join(topology.order)}")
    found: dict[str, list[str]] = {}
    for name in topology.order:
        found.setdefault(groups.get(name, DEFAULT_GROUP), []).append(name)
    return found


def slots_needed(work: Workload, groups: Mapping[str, str]) -> int:
    """Sum over groups of the largest parallelism in each."""
    return sum(max(work.parallelism[name] for name in names) for names in slot_groups(work.topology, groups).values())


def _put(filled: OpenContainers, slot: list[int], number: int) -> None:
    for at in slot:
        filled.put(at, number)
