"""Resources and cost of an instance of each operator in a replay: declared in the topology file, else measured."""

from dataclasses import replace

from forescale.files.topology import OperatorEntry, TopologyConfig
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from planner.pricing.instance_cost import CostQuantity, InstanceCost, UnknownCost, measured_cost


def instance_costs(
    config: TopologyConfig, believed: Profiles
) -> tuple[dict[str, InstanceCost], tuple[UnknownCost, ...]]:
    """Costs by operator; and the quantities known for some operators only."""
    costs = {name: _cost(entry, believed[name]) for name, entry in config.operators.items()}
    lacking = {
        each: tuple(name for name, cost in costs.items() if getattr(cost, each) is None) for each in CostQuantity
    }
    unknown = (UnknownCost(each, operators) for each, operators in lacking.items() if 0 < len(operators) < len(costs))
    return costs, tuple(unknown)


def _cost(entry: OperatorEntry, profile: OperatorProfile) -> InstanceCost:
    cost = replace(measured_cost(profile), price_per_hour=entry.price_per_hour)
    if entry.cores is not None:
        cost = replace(cost, cores=entry.cores)
    if entry.memory_mib is not None:
        cost = replace(cost, memory_mib=entry.memory_mib, state_mib=0.0)
    return cost
