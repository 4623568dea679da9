"""Packs plans for pricing: a packer, and needs of instances that do not depend on the load."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from modeling.flow.resources import MIB_PER_GIB
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.least_on_site import Together
from planner.errors import PlanError
from planner.packing.needs import Reserved, reserved_needs
from planner.packing.packer import Packer, Packing
from planner.packing.traffic import stream_traffic
from planner.packing.workload import Workload
from planner.pricing.instance_cost import InstanceCost

_REMEMBERED = 65536


@dataclass(frozen=True)
class Placing:
    """costs: by operator, needs of an instance: reserved, else measured when always busy, else the default. A plan thus
    needs the same under any load. Cores count only for packers that reserve them: with others a container may hold more
    than its cores can do, and then saturates before its instances. Streams are weighted by their rates under 1 tuple
    per second at each source. together: operators that share slots which plans pay for as a whole.
    """

    topology: Topology
    profiles: Profiles
    costs: Mapping[str, InstanceCost]
    packer: Packer
    together: Together = ()
    _plans: dict[tuple[int, ...], PhysicalPlan | PlanError] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def pack(self, parallelism: Mapping[str, int]) -> Packing:
        """Raises PlanError if it cannot be packed."""
        return self.plan(parallelism).packing

    def plan(self, parallelism: Mapping[str, int]) -> PhysicalPlan:
        """The plan of a parallelism, packed from scratch; computed once. Raises PlanError if it cannot be packed."""
        key = tuple([parallelism[name] for name in self.topology.order])
        if key not in self._plans:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            try:
                packing = self.packer.pack(self._workload(parallelism))
                self._plans[key] = PhysicalPlan(self.topology.name, dict(parallelism), packing)
            except PlanError as error:
                self._plans[key] = error
        known = self._plans[key]
        if isinstance(known, PlanError):
            raise known
        return known

    def repack(self, running: PhysicalPlan, parallelism: Mapping[str, int]) -> Packing:
        """From the running containers, or anew if that fails. Raises PlanError if it cannot be packed."""
        work = self._workload(parallelism)
        try:
            return self.packer.repack(running.packing, work)
        except PlanError:
            return self.packer.pack(work)

    def _workload(self, parallelism: Mapping[str, int]) -> Workload:
        plan = PhysicalPlan(self.topology.name, {name: parallelism[name] for name in self.topology.order})
        reserved = {name: self._reserved(name, count) for name, count in plan.parallelism.items()}
        load = dict.fromkeys(self.topology.sources, 1.0)
        traffic = stream_traffic(self.topology, self.profiles, plan, load)
        return Workload(self.topology, plan.parallelism, reserved_needs(plan.parallelism, reserved), traffic)

    def _reserved(self, operator: str, count: int) -> Reserved:
        of = self.costs.get(operator, InstanceCost())
        disk_mib = 0.0 if of.state_mib else MIB_PER_GIB * self.profiles[operator].state_gib / count
        memory_mib = None if of.memory_mib is None else of.memory_mib + of.state_mib / count
        cores = of.cores if self.packer.reserves_cores else 0.0
        return Reserved(cores, memory_mib, disk_mib if not self.profiles[operator].state_in_memory else 0.0)
