"""Resources: CPU and memory needs of a plan's instances and containers, and exceeded container sizes.

CPU and memory grow linearly with the rate, so a container has a saturation point like an instance: the load at which
all its cores are in use. Instances in too small a container contend and slow down at least in proportion to the
shortage. Use it along with a plan's rates before trusting them for a plan with a packing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.flow.key_assignment import key_shares
from modeling.flow.plan_rates import Rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import Container, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Topology
from modeling.wording import count_of

FULL_MEMORY = 0.85
"""Share of its memory above which a container has little room between two garbage collections."""
LONG_GC = 0.1
"""Share of time spent in garbage collection above which memory, not load, slows an operator."""
MIB_PER_GIB = 1024
_ROUNDING = 1e-9


class Resource(StrEnum):
    CORES = "cores"
    MEMORY = "memory"
    GC = "garbage collection"


@dataclass(frozen=True)
class Pressure:
    """An exceeded bound. where: `container 3` or `operator 'count'`. needed, limit: cores, MiB, or share of time for
    garbage collection. text: place, value, bound and remedy for people.
    """

    where: str
    resource: Resource
    needed: float
    limit: float
    text: str


@dataclass(frozen=True)
class ContainerEstimate:
    """Needs and limits of one container under the load. idle_cores: the part of cores that is used without work.
    cores_error: standard error of cores, from that of the profiles. memory_mib: None if an instance's memory is
    unknown. limits: None if unbounded.
    """

    id: int
    node: str
    cores: float
    idle_cores: float
    cores_error: float
    memory_mib: float | None
    cores_limit: float | None
    memory_limit_mib: float | None
    over: tuple[Pressure, ...] = ()

    @property
    def headroom_factor(self) -> float:
        """Factor by which the load could grow until all cores are in use; infinite if unbounded."""
        if self.cores_limit is None or self.cores <= self.idle_cores:
            return float("inf")
        return max(0.0, self.cores_limit - self.idle_cores) / (self.cores - self.idle_cores)

    @property
    def slowdown(self) -> float:
        """Minimum factor by which its instances take longer per tuple; 1 if cores suffice.

        From the mean demand: instances busy at the same time contend earlier, and beyond saturation instances that fell
        behind are always busy and compete for the cores.
        """
        return max(1.0, 1 / self.headroom_factor) if self.headroom_factor > 0 else float("inf")


@dataclass(frozen=True)
class Resources:
    """Resource needs of a plan under a load, at given rates.

    cores, memory_mib: per operator, of each instance, shape (parallelism,); memory None if unknown. over: all exceeded
    bounds, including those of containers. containers: by id; empty for a plan without a packing.
    container_idle_cores: that all containers use beside their instances: without work, and to wake those that wait.
    notes: what is unknown or only
    bounded, and why.
    """

    cores: Mapping[str, Floats]
    memory_mib: Mapping[str, Floats | None]
    containers: Mapping[int, ContainerEstimate]
    over: tuple[Pressure, ...] = ()
    notes: tuple[str, ...] = ()
    container_idle_cores: float = 0.0

    @property
    def total_cores(self) -> float:
        return float(sum(each.sum() for each in self.cores.values())) + self.container_idle_cores

    @property
    def total_memory_mib(self) -> float | None:
        """Memory of all instances; None if one is unknown."""
        known = [each for each in self.memory_mib.values() if each is not None]
        return float(sum(each.sum() for each in known)) if len(known) == len(self.memory_mib) else None


def resources(topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, site: Site) -> Resources:
    """Resource needs of `plan` at `rates`, which must be of the same site (arrival_rates).

    Rates are of the offered load: for an overloaded instance, cores are those that would be needed. A container needs
    the sum of its instances; its own overhead (a stream manager, the JVM of a worker) counts as far as the profiles'
    idle_cores and cpu_s include it. Raises ModelError for a plan that does not fit the topology.
    """
    plan.check(topology)
    _check_rates(topology, plan, rates)
    cores = dict(rates.cores)
    memory = instance_memory_mib(topology, profiles, plan, rates)
    containers = _containers(profiles, plan, rates, site, cores, memory)
    pressures = [pressure for container in containers.values() for pressure in container.over]
    if not plan.packing:
        pressures += _fits_no_container(site.container, cores, memory)
    pressures += [
        Pressure(
            f"operator {name!r}",
            Resource.GC,
            profiles[name].gc_share,
            LONG_GC,
            f"operator {name!r} spent {profiles[name].gc_share:.0%} of its time in garbage collection when measured, "
            f"above {LONG_GC:.0%}; give its containers more memory, or raise its parallelism",
        )
        for name in cores
        if profiles[name].gc_share > LONG_GC
    ]
    beside = float(_beside_instances(profiles, plan, site).sum()) + _waking_cores(profiles, plan, site, containers)
    return Resources(cores, memory, containers, tuple(pressures), _notes(profiles, plan, site, memory), beside)


def instance_memory_mib(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates
) -> dict[str, Floats | None]:
    """Memory of each instance in MiB, shape (parallelism,): idle + rate-dependent part + its share of the state.

    State is assumed even over key groups (Flink), tasks (Storm) or instances (Heron), and as large in memory as
    measured, although objects on the heap need more than their checkpoint. None if memory_mib is unknown.
    """
    memory: dict[str, Floats | None] = {}
    for name, rate_per_s in rates.instance_per_s.items():
        profile = profiles[name]
        if profile.memory_mib is None:
            memory[name] = None
            continue
        state_mib = profile.state_gib * MIB_PER_GIB if profile.state_in_memory else 0.0
        held = key_shares(topology.engine, plan.parallelism[name], topology.operator(name).max_parallelism, None)
        memory[name] = profile.memory_mib + profile.memory_mib_s * rate_per_s + state_mib * held
    return memory


def _check_rates(topology: Topology, plan: PhysicalPlan, rates: Rates) -> None:
    for name in topology.order:
        instances = rates.instance_per_s[name].size if name in rates.instance_per_s else 0
        if instances != plan.parallelism[name]:
            raise ModelError(
                f"rates are of {count_of(instances, 'instance')} of operator {name!r}, the plan has "
                f"{plan.parallelism[name]}; "
                "give the rates of this plan"
            )


def _cores_error(profiles: Profiles, plan: PhysicalPlan, rates: Rates, name: str) -> Floats:
    """Standard error of the cores of each instance for tuples: fully correlated within an operator."""
    profile = profiles[name]
    if profile.cpu_s is not None:
        of_tuples = rates.cores[name] - rates.idle_cores[name]
        return np.asarray(of_tuples * (profile.cpu_s_error / profile.cpu_s if profile.cpu_s else 0.0))
    if profile.service_s == 0:
        return np.zeros(plan.parallelism[name])
    return np.asarray(rates.busy[name] * profile.service_s_error / profile.service_s)


def _containers(
    profiles: Profiles,
    plan: PhysicalPlan,
    rates: Rates,
    site: Site,
    cores: Mapping[str, Floats],
    memory: Mapping[str, Floats | None],
) -> dict[int, ContainerEstimate]:
    if not plan.packing:
        return {}
    size = len(plan.packing)
    used, variance, used_mib, unknown = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size, dtype=bool)
    beside = _beside_instances(profiles, plan, site)
    used, idle, idle_error = used + beside, beside.copy(), np.zeros(size)
    most_error = np.zeros(size)
    for name, positions in plan.container_positions.items():
        at = np.array(positions)
        used += np.bincount(at, cores[name], size)
        variance += np.bincount(at, _cores_error(profiles, plan, rates, name), size) ** 2
        idle += np.bincount(at, rates.idle_cores[name], size)
        # One fit finds what all operators of a container use without work: these errors add up.
        idle_error += np.bincount(at, minlength=size) * profiles[name].idle_cores_error
        most_error[at] = np.maximum(most_error[at], profiles[name].container_idle_cores_error)
        needed = memory[name]
        if needed is None:
            unknown[at] = True
        else:
            used_mib += np.bincount(at, needed, size)
    limit = site.container
    estimates: dict[int, ContainerEstimate] = {}
    for container, number in zip(plan.packing, range(size), strict=True):
        over = _over(Resource.CORES, plan.packing, number, used, limit.cores, cores)
        over += _over(Resource.MEMORY, plan.packing, number, used_mib, limit.memory_mib, memory)
        estimates[container.id] = ContainerEstimate(
            id=container.id,
            node=container.node,
            cores=float(used[number]),
            idle_cores=float(idle[number]),
            cores_error=float(np.hypot(variance[number] ** 0.5, idle_error[number] + most_error[number])),
            memory_mib=None if unknown[number] else float(used_mib[number]),
            cores_limit=limit.cores,
            memory_limit_mib=limit.memory_mib,
            over=over,
        )
    return estimates


def _beside_instances(profiles: Profiles, plan: PhysicalPlan, site: Site) -> Floats:
    """Cores that each container uses beside its instances, without work, shape (containers,)."""
    found = np.zeros(len(plan.packing))
    for name, positions in plan.container_positions.items():
        at = np.array(positions)
        found[at] = np.maximum(found[at], profiles[name].container_idle_cores)
    if not plan.places_nodes:
        return found
    return np.asarray(found * np.array([site.service_factor.get(container.node, 1.0) for container in plan.packing]))


def _waking_cores(
    profiles: Profiles, plan: PhysicalPlan, site: Site, containers: Mapping[int, ContainerEstimate]
) -> float:
    """Cores that all containers use to wake their instances: the less, the more of their cores work."""
    most = np.zeros(len(plan.packing))
    for name, positions in plan.container_positions.items():
        at = np.array(positions)
        most[at] = np.maximum(most[at], profiles[name].container_waking_cores)
    if not most.any():
        return 0.0
    cores = site.container.cores or 1.0
    used = np.array([containers[each.id].cores for each in plan.packing])
    # A part of a core is a quota: its instances wait as much as on a whole one, until none of it is left.
    waking = most * np.maximum(0.0, 1 - used / max(cores, 1.0))
    return float(np.minimum(waking, np.maximum(0.0, cores - used)).sum())


def _over(
    resource: Resource,
    packing: Sequence[Container],
    number: int,
    used: Floats,
    limit: float | None,
    needs: Mapping[str, Floats | None],
) -> tuple[Pressure, ...]:
    """Exceeded bounds of one container. used: of all containers; a lower bound if memory is unknown."""
    needed = float(used[number])
    room_to_collect = FULL_MEMORY if resource is Resource.MEMORY else 1.0
    if limit is None or needed <= limit * room_to_collect * (1 + _ROUNDING):
        return ()
    container, unit = packing[number], "cores" if resource is Resource.CORES else "MiB"
    where = f"container {container.id}" + (f" on node {container.node}" if container.node else "")
    finding = f"{where} needs {needed:.4g} of {limit:.4g} {unit}"
    bound = limit
    if needed <= limit * (1 + _ROUNDING):
        resource, bound = Resource.GC, limit * FULL_MEMORY
        finding += f", more than {FULL_MEMORY:.0%}, and will often collect garbage"
    remedy = _remedy(packing, number, used, bound, needs, unit)
    text = f"{finding}; {remedy}, or give containers {needed / room_to_collect:.4g} {unit}"
    return (Pressure(where, resource, needed, bound, text),)


def _remedy(
    packing: Sequence[Container],
    number: int,
    used: Floats,
    bound: float,
    needs: Mapping[str, Floats | None],
    unit: str,
) -> str:
    """Suggests moving the smallest sufficient instance, else the largest; or splitting one that fits nowhere."""
    known = [(needs[instance.operator], instance) for instance in packing[number].instances]
    sizes = [(0.0 if each is None else float(each[instance.index]), instance) for each, instance in known]
    largest, of = max(sizes)
    if largest > bound:
        return f"raise the parallelism of {of.operator!r} ({of} alone needs {largest:.4g} {unit})"
    excess = float(used[number]) - bound
    size, moved = min((each for each in sizes if each[0] >= excess), default=(largest, of))
    room = np.delete(bound - used, number)
    others = [container.id for container in packing if container.id != packing[number].id]
    where = "elsewhere"
    if room.size and float(room.max()) >= size:
        where = f"to container {others[int(room.argmax())]}, which has {float(room.max()):.4g} left"
    return f"move {moved} ({size:.4g} {unit}) {where}"


def _fits_no_container(
    limit: ContainerSize, cores: Mapping[str, Floats], memory: Mapping[str, Floats | None]
) -> list[Pressure]:
    """Operators with a single instance larger than any container: no packing can help."""
    found = []
    for resource, unit, bound, needs in (
        (Resource.CORES, "cores", limit.cores, cores),
        (Resource.MEMORY, "MiB", limit.memory_mib, memory),
    ):
        for name, needed in needs.items():
            if bound is None or needed is None or float(needed.max()) <= bound * (1 + _ROUNDING):
                continue
            largest = float(needed.max())
            text = (
                f"{name}[{int(needed.argmax())}] alone needs {largest:.4g} of a container's {bound:.4g} {unit}; "
                f"raise the parallelism of {name!r}, or give containers {largest:.4g} {unit}"
            )
            found.append(Pressure(f"operator {name!r}", resource, largest, bound, text))
    return found


def _notes(profiles: Profiles, plan: PhysicalPlan, site: Site, memory: Mapping[str, Floats | None]) -> tuple[str, ...]:
    notes = []
    bounded = [name for name in memory if profiles[name].cpu_s is None]
    if bounded:
        notes.append(f"CPU of {', '.join(bounded)} was not measured: busy time stands for it, a bound")
    if lacking := [name for name, needed in memory.items() if needed is None]:
        notes.append(f"memory of {', '.join(lacking)} is unknown, and so is that of their containers")
    sized = site.container.cores is not None or site.container.memory_mib is not None
    if sized and not plan.packing:
        notes.append("the plan has no packing: containers are not checked against their size")
    if plan.packing and not sized:
        notes.append("no container size is given: needs are estimated, but not compared with a size")
    return tuple(notes)
