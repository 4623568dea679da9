"""Resources and price of one instance, and of a plan for an hour."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from modeling.flow.resources import MIB_PER_GIB
from modeling.inputs.operator_profile import OperatorProfile


@dataclass(frozen=True)
class InstanceCost:
    """Resources of one instance of an operator; None if unknown.

    cores, memory_mib: reserved, or used when it is always busy. state_mib: memory of the state over all instances,
    unless included in memory_mib. price_per_hour: in the currency of the topology file.
    """

    cores: float | None = None
    memory_mib: float | None = None
    state_mib: float = 0.0
    price_per_hour: float | None = None


@dataclass(frozen=True)
class HourlyCost:
    """Of a whole plan for an hour; None unless known for every operator."""

    cores: float | None
    memory_gib: float | None
    price: float | None


def measured_cost(profile: OperatorProfile) -> InstanceCost:
    """From the profile, for an instance that is always busy."""
    busy = profile.service_s > 0
    cores = profile.cpu_s / profile.service_s + profile.idle_cores if busy and profile.cpu_s is not None else None
    memory_mib = profile.memory_mib
    if memory_mib is not None and profile.memory_mib_s:
        memory_mib = memory_mib + profile.memory_mib_s / profile.service_s if busy else None
    return InstanceCost(cores, memory_mib, MIB_PER_GIB * profile.state_gib if profile.state_in_memory else 0.0)


def hourly_cost(plan: Mapping[str, int], costs: Mapping[str, InstanceCost]) -> HourlyCost:
    """costs: by operator; missing ones are unknown."""
    every = [(count, costs.get(name, InstanceCost())) for name, count in plan.items()]
    memory_mib = _summed(
        (count * each.memory_mib + each.state_mib if each.memory_mib is not None else None) for count, each in every
    )
    return HourlyCost(
        _summed(None if each.cores is None else count * each.cores for count, each in every),
        None if memory_mib is None else memory_mib / MIB_PER_GIB,
        _summed(None if each.price_per_hour is None else count * each.price_per_hour for count, each in every),
    )


def _summed(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(each for each in known if each is not None)


class CostQuantity(StrEnum):
    """A quantity of an instance, by its name in the topology file."""

    CORES = "cores"
    MEMORY = "memory_mib"
    PRICE = "price_per_hour"


@dataclass(frozen=True)
class UnknownCost:
    """A quantity that is known of some operators only, not of these, and is therefore not summed."""

    quantity: CostQuantity
    operators: tuple[str, ...]
