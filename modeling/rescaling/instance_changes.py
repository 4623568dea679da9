"""Disruption: the instances that a change of plan starts, stops and moves to another container."""

from collections import Counter
from dataclasses import dataclass

from modeling.inputs.physical_plan import Container, PhysicalPlan


@dataclass(frozen=True)
class InstanceChanges:
    """moved: continuing instances in another container than before; 0 if a plan has no packing."""

    started: int
    stopped: int
    moved: int

    @property
    def total(self) -> int:
        return self.started + self.stopped + self.moved

    def __str__(self) -> str:
        return f"{self.started} started, {self.stopped} stopped, {self.moved} moved"


def instance_changes(before: PhysicalPlan, after: PhysicalPlan) -> InstanceChanges:
    """Instances of an operator are interchangeable; containers are identified by id, and by node if both plans name all
    nodes.
    """
    old, new = Counter(before.parallelism), Counter(after.parallelism)
    going_on = (old & new).total()
    placed = before.packing and after.packing
    moved = going_on - staying(before.packing, after.packing) if placed else 0
    return InstanceChanges((new - old).total(), (old - new).total(), moved)


def staying(running: tuple[Container, ...], packing: tuple[Container, ...]) -> int:
    """Number of instances that stay: per operator and container, the smaller of the counts before and after."""
    nodes = all(container.node for container in (*running, *packing))
    before, after = (
        Counter((each.id, each.node if nodes else "", one.operator) for each in placed for one in each.instances)
        for placed in (running, packing)
    )
    return (before & after).total()
