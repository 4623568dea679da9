"""Resources and cost of an instance of each operator in a replay: declared in the topology file, else measured."""

from dataclasses import replace

from forescale.files.topology import OperatorEntry, TopologyConfig
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from planner.pricing.instance_cost import InstanceCost, measured_cost


def instance_costs(config: TopologyConfig, believed: Profiles) -> tuple[dict[str, InstanceCost], list[str]]:
    """Costs by operator; and notes on quantities known for some operators only, which are therefore not summed."""
    costs = {name: _cost(entry, believed[name]) for name, entry in config.operators.items()}
    notes = []
    for what, field, sums in (
        ("cores", "cores", "CPU-hours"),
        ("memory", "memory_mib", "memory-hours"),
        ("price", "price_per_hour", "price"),
    ):
        lacking = [name for name, cost in costs.items() if getattr(cost, field) is None]
        if 0 < len(lacking) < len(costs):
            notes.append(f"no {sums}: the {what} of an instance of {', '.join(lacking)} is not known; declare {field}")
    return costs, notes


def _cost(entry: OperatorEntry, profile: OperatorProfile) -> InstanceCost:
    cost = replace(measured_cost(profile), price_per_hour=entry.price_per_hour)
    if entry.cores is not None:
        cost = replace(cost, cores=entry.cores)
    if entry.memory_mib is not None:
        cost = replace(cost, memory_mib=entry.memory_mib, state_mib=0.0)
    return cost
