"""The packing that a `heron update` is predicted to make, beside the one that Heron's own dry run tells.

Heron's word holds: it is what the update will make. A difference says that the packer, its padding or what instances
reserve is not what the topology was submitted with, so that schedules count other containers than there will be.
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
"""Those of Heron, by their names in the registry."""


@dataclass(frozen=True)
class PredictedPacking:
    """packer: that of `heron.class.repacking.algorithm`. reserved: by operator, what an instance was submitted with;
    what it leaves out is Heron's default.
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
        """What is to be told where the dry run's containers are not the predicted ones; empty where they are.

        operator_of: operator by component. Which of an operator's instances a container holds is not compared: Heron
        numbers them otherwise.
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
