"""What to pack: instances, their needs, and the traffic between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.physical_plan import Instance, PhysicalPlan
from modeling.inputs.topology import Topology
from planner.errors import PlanError
from planner.packing.needs import Needs

RESOURCES = ("cores", "memory_mib", "disk_mib")
"""The columns of sizes."""


@dataclass(frozen=True)
class Workload:
    """traffic_per_s: by stream name, tuples per second between each two instances, shape (upstream, downstream); empty
    without a load. Raises ModelError for a parallelism that does not fit the topology, PlanError for needs that do not
    fit it.
    """

    topology: Topology
    parallelism: Mapping[str, int]
    needs: Needs
    traffic_per_s: Mapping[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        PhysicalPlan(self.topology.name, self.parallelism).check(self.topology)
        for name, count in self.parallelism.items():
            for resource in RESOURCES:
                known = getattr(self.needs, resource).get(name)
                if known is not None and known.shape != (count,):
                    raise PlanError(
                        f"needs of operator {name!r} name {resource} of {known.size} instances, it has {count}; "
                        "give one for each"
                    )

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """In topology order; positions in other fields refer to it."""
        return tuple(Instance(name, at) for name in self.topology.order for at in range(self.parallelism[name]))

    @cached_property
    def position(self) -> Mapping[Instance, int]:
        return {instance: at for at, instance in enumerate(self.instances)}

    @cached_property
    def first(self) -> Mapping[str, int]:
        """Position of the first instance of each operator; the others follow."""
        starts: dict[str, int] = {}
        for name in self.topology.order:
            starts[name] = sum(self.parallelism[each] for each in starts)
        return starts

    @cached_property
    def sizes(self) -> Floats:
        """Shape (instances, 3): cores, MiB of memory, MiB of disk."""
        columns = []
        for resource in RESOURCES:
            known = getattr(self.needs, resource)
            parts = [known.get(name, np.zeros(self.parallelism[name])) for name in self.topology.order]
            columns.append(np.concatenate(parts))
        return np.stack(columns, axis=1)

    @cached_property
    def largest(self) -> Mapping[str, Floats]:
        """By operator, the largest need of one of its instances for each resource, shape (3,)."""
        return {
            name: self.sizes[start : start + self.parallelism[name]].max(axis=0) for name, start in self.first.items()
        }

    def positions(self, operator: str, begin: int = 0) -> range:
        """Positions of the operator's instances from index `begin` on."""
        start = self.first[operator]
        return range(start + begin, start + self.parallelism[operator])

    def by_memory(self) -> list[str]:
        """Operators with the largest instances first: by memory, then cores, then topology order."""
        return sorted(self.topology.order, key=lambda name: (-self.largest[name][1], -self.largest[name][0]))
