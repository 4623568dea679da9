"""What each instance needs of a container: reserved by a person, or computed by the model for a load."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from modeling.arrays import Floats
from modeling.flow.key_assignment import key_shares
from modeling.flow.plan_rates import Rates
from modeling.flow.resources import MIB_PER_GIB, instance_memory_mib
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.errors import PlanError

USUAL_CORES = 1.0
"""Default for an instance without data: it works on one tuple at a time. Heron's default too."""

USUAL_MEMORY_MIB = 1024.0
"""Heron's default."""


@dataclass(frozen=True)
class Needs:
    """By operator, the need of each instance, shape (parallelism,). disk_mib: for state that is not in memory;
    operators without an entry need none. notes: assumptions made.
    """

    cores: Mapping[str, Floats]
    memory_mib: Mapping[str, Floats]
    disk_mib: Mapping[str, Floats]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reserved:
    """Reservation for one instance, in place of the model's numbers; None for no reservation."""

    cores: float | None = None
    memory_mib: float | None = None
    disk_mib: float | None = None

    def __post_init__(self) -> None:
        for name in ("cores", "memory_mib", "disk_mib"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise PlanError(f"reserved {name} {value}; give a finite number, not below 0, or leave it out")


def reserved_needs(parallelism: Mapping[str, int], reserved: Mapping[str, Reserved]) -> Needs:
    """Without a load: the reservations, else defaults."""
    usual = {name: np.full(count, USUAL_CORES) for name, count in parallelism.items()}
    unknown: dict[str, Floats | None] = dict.fromkeys(parallelism)
    return _needs(parallelism, usual, unknown, {}, reserved, assumed_cores=True)


def loaded_needs(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, reserved: Mapping[str, Reserved]
) -> Needs:
    """The reservations, else the needs at `rates`, on nodes as fast as those of the measurement."""
    disk = {
        name: profiles[name].state_gib
        * MIB_PER_GIB
        * key_shares(topology.engine, count, topology.operator(name).max_parallelism, None)
        for name, count in plan.parallelism.items()
        if not profiles[name].state_in_memory
    }
    memory = instance_memory_mib(topology, profiles, plan, rates)
    return _needs(plan.parallelism, rates.cores, memory, disk, reserved)


def _needs(
    parallelism: Mapping[str, int],
    cores: Mapping[str, Floats],
    memory: Mapping[str, Floats | None],
    disk: Mapping[str, Floats],
    reserved: Mapping[str, Reserved],
    *,
    assumed_cores: bool = False,
) -> Needs:
    found: dict[str, dict[str, Floats]] = {"cores": {}, "memory_mib": {}, "disk_mib": {}}
    usual_cores, usual_memory = [], []
    for name, count in parallelism.items():
        own = reserved.get(name, Reserved())
        known = memory[name]
        found["cores"][name] = cores[name] if own.cores is None else np.full(count, own.cores)
        if own.memory_mib is not None:
            found["memory_mib"][name] = np.full(count, own.memory_mib)
        else:
            found["memory_mib"][name] = np.full(count, USUAL_MEMORY_MIB) if known is None else known
        found["disk_mib"][name] = (
            disk.get(name, np.zeros(count)) if own.disk_mib is None else np.full(count, own.disk_mib)
        )
        if own.cores is None and assumed_cores:
            usual_cores.append(name)
        if own.memory_mib is None and known is None:
            usual_memory.append(name)
    notes = []
    if usual_cores:
        notes.append(f"cores of {', '.join(usual_cores)} are not known: {USUAL_CORES:g} is taken for each instance")
    if usual_memory:
        notes.append(f"memory of {', '.join(usual_memory)} is not known: {USUAL_MEMORY_MIB:g} MiB for each instance")
    return Needs(**found, notes=tuple(notes))
