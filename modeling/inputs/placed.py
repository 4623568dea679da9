"""The placement of instances and the speed of their nodes, computed once for all plans of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site


@dataclass(frozen=True)
class Placed:
    """Plans with their packings as arrays.

    parallelism: per operator, shape (plans,). container: per operator, index of each instance's container in its plan's
    packing, shape (plans, most instances), -1 if there is none; empty if no plan has a packing. node: index in `nodes`,
    likewise; empty unless the site has a network. service_factor: factor by which each instance's node lengthens its
    measured service time; 1 if unknown; empty if all are 1.
    """

    plans: Sequence[PhysicalPlan]
    parallelism: Mapping[str, Ints]
    nodes: tuple[str, ...] = ()
    container: Mapping[str, Ints] = field(default_factory=dict)
    node: Mapping[str, Ints] = field(default_factory=dict)
    service_factor: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def containers(self) -> int:
        """Maximum number of containers of a plan."""
        return max(len(plan.packing) for plan in self.plans)

    def factor(self, operator: str, most: int) -> Floats | None:
        """service_factor of the first `most` instances, shape (plans, most)."""
        return self.service_factor[operator][:, :most] if operator in self.service_factor else None


def placed(plans: Sequence[PhysicalPlan], operators: Sequence[str], site: Site) -> Placed:
    """Placement of plans that have these operators. A plan that does not name the node of every container has unknown
    nodes.

    Raises ModelError for a node that the network lacks.
    """
    parallelism = {name: np.array([plan.parallelism[name] for plan in plans], dtype=np.int64) for name in operators}
    if not any(plan.packing for plan in plans):
        return Placed(plans, parallelism)
    container = {name: np.full((len(plans), int(counts.max())), -1) for name, counts in parallelism.items()}
    nodes = () if site.network is None else site.network.nodes
    knows_nodes = nodes or site.service_factor
    node_of = np.full((len(plans), max(len(plan.packing) for plan in plans) + 1), -1)
    factor_of = np.ones(node_of.shape)
    for at, plan in enumerate(plans):
        for name, positions in plan.container_positions.items():
            container[name][at, : len(positions)] = positions
        if knows_nodes and plan.places_nodes:
            count = len(plan.packing)
            if site.network is not None:
                node_of[at, :count] = site.network.of([each.node for each in plan.packing])
            factor_of[at, :count] = [site.service_factor.get(each.node, 1.0) for each in plan.packing]
    # Index -1, no container, selects the last column: no node, and a factor of 1.
    node = {name: np.take_along_axis(node_of, each, 1) for name, each in container.items()} if nodes else {}
    slowed = (factor_of != 1).any()
    factors = {name: np.take_along_axis(factor_of, each, 1) for name, each in container.items()} if slowed else {}
    return Placed(plans, parallelism, nodes, container, node, factors)
