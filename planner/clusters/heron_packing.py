"""Compares the packing predicted for a `heron update` with that of Heron's own dry run.

Heron's is authoritative: the update will make it. A difference means that the packer, its padding or the resources per
instance are not those the topology was submitted with, so schedules count the wrong number of containers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engines.heron.cli import PackedContainer
from modeling.inputs.physical_plan import Container, PhysicalPlan
from modeling.inputs.topology import Topology
from planner.errors import PlanError
from planner.packing.needs import Reserved, reserved_needs
from planner.packing.packer import Packer
from planner.packing.workload import Workload

HERON_PACKERS = frozenset({"round_robin", "first_fit_decreasing", "resource_compliant"})
"""Heron's packers, by their names in the registry."""


@dataclass(frozen=True)
class PredictedPacking:
    """packer: the one in `heron.class.repacking.algorithm`. reserved: by operator, the resources that an instance was
    submitted with; missing ones are Heron's defaults.
    """

    packer: Packer
    reserved: Mapping[str, Reserved] = field(default_factory=dict)

    def compared(
        self,
        topology: Topology,
        running: tuple[Container, ...],
        plan: PhysicalPlan,
        new: Sequence[PackedContainer],
        operator_of: Mapping[str, str],
    ) -> str:
        """A message if the dry run's containers differ from the predicted ones; else empty.

        operator_of: operator by component. Which instance of an operator a container holds is not compared, as Heron
        numbers them differently.
        """
        heron = [Counter(operator_of.get(each.component, each.component) for each in one.instances) for one in new]
        try:
            predicted = self.packer.repack(
                running, Workload(topology, plan.parallelism, reserved_needs(plan.parallelism, self.reserved))
            )
        except PlanError as error:
            return f"Heron packs {_brief(heron)}, which {self.packer.name} cannot predict: {error}"
        ours = [Counter(each.operator for each in one.instances) for one in predicted]
        if sorted(map(_line, ours)) == sorted(map(_line, heron)):
            return ""
        return (
            f"Heron packs {_brief(heron)}, where {self.packer.name} predicts {_brief(ours)}; Heron's is made, and "
            "schedules count the predicted containers: set packing.packer, packing.padding and what operators reserve "
            "as the topology was submitted"
        )


def _brief(containers: Sequence[Counter[str]]) -> str:
    return f"{len(containers)} containers ({' | '.join(map(_line, containers))})"


def _line(container: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(container.items()))
