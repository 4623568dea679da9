"""Where instances sit: the container and the node of each, as the packing of a plan tells."""

from collections.abc import Mapping, Sequence

from modeling.errors import ModelError
from modeling.inputs.physical_plan import Instance, PhysicalPlan


def containers_of(plan: PhysicalPlan) -> dict[str, tuple[int, ...]]:
    """The container of each instance, by operator in the order of their indices; empty without a packing."""
    placed = {instance: container.id for container in plan.packing for instance in container.instances}
    if not placed:
        return {}
    return {
        operator: tuple(placed[Instance(operator, index)] for index in range(count))
        for operator, count in plan.parallelism.items()
    }


def node_of_container(plan: PhysicalPlan) -> dict[int, str]:
    """The node of each container that the plan gives one."""
    return {container.id: container.node for container in plan.packing if container.node}


def places_nodes(plan: PhysicalPlan) -> bool:
    """Whether the plan tells the node of every instance."""
    return bool(plan.packing) and all(container.node for container in plan.packing)


def instance_nodes(plan: PhysicalPlan, node_of: Mapping[int, str]) -> dict[str, Sequence[str]]:
    """Per operator the node of each instance, by index. node_of: per container.

    Raises ModelError for a plan without a packing and for a container without a node.
    """
    if not plan.packing:
        raise ModelError(f"plan of topology {plan.topology!r} has no packing; say which container each instance is in")
    if lacking := [container.id for container in plan.packing if container.id not in node_of]:
        raise ModelError(f"container {lacking[0]} has no node; name the node of every container")
    return {operator: [node_of[each] for each in placed] for operator, placed in containers_of(plan).items()}
