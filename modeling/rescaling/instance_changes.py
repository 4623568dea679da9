"""Disruption: how many instances a change of plan starts, stops and moves to another container."""

from collections import Counter
from dataclasses import dataclass

from modeling.inputs.physical_plan import Container, PhysicalPlan


@dataclass(frozen=True)
class InstanceChanges:
    """moved: of the instances that go on running, those in another container than before; 0 where a plan has no
    packing.
    """

    started: int
    stopped: int
    moved: int

    @property
    def total(self) -> int:
        return self.started + self.stopped + self.moved

    def __str__(self) -> str:
        return f"{self.started} started, {self.stopped} stopped, {self.moved} moved"


def instance_changes(before: PhysicalPlan, after: PhysicalPlan) -> InstanceChanges:
    """Instances of an operator stand for each other; a container is known by its id, and by its node where both plans
    tell the nodes of all.
    """
    old, new = Counter(before.parallelism), Counter(after.parallelism)
    going_on = (old & new).total()
    placed = before.packing and after.packing
    moved = going_on - staying(before.packing, after.packing) if placed else 0
    return InstanceChanges((new - old).total(), (old - new).total(), moved)


def staying(running: tuple[Container, ...], packing: tuple[Container, ...]) -> int:
    """Instances that need not move: of each operator in each container as many as run there before and after."""
    nodes = all(container.node for container in (*running, *packing))
    before, after = (
        Counter((each.id, each.node if nodes else "", one.operator) for each in placed for one in each.instances)
        for placed in (running, packing)
    )
    return (before & after).total()
