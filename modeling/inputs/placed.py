"""Where the instances of plans sit, and how fast their nodes are: worked out once for all plans of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site


@dataclass(frozen=True)
class Placed:
    """Plans with their packings as arrays.

    parallelism: per operator, shape (plans,). container: per operator, position of each instance's container in the
    packing of its plan, shape (plans, most instances), -1 where there is none; empty where no plan has a packing. node:
    position in `nodes`, likewise; empty unless the site has a network. service_factor: by what factor each instance
    takes longer than it was measured, because of its node; 1 where nothing tells; empty where all are 1.
    """

    plans: Sequence[PhysicalPlan]
    parallelism: Mapping[str, Ints]
    nodes: tuple[str, ...] = ()
    container: Mapping[str, Ints] = field(default_factory=dict)
    node: Mapping[str, Ints] = field(default_factory=dict)
    service_factor: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def containers(self) -> int:
        """The most that a plan has."""
        return max(len(plan.packing) for plan in self.plans)

    def factor(self, operator: str, most: int) -> Floats | None:
        """service_factor of the first `most` instances, shape (plans, most)."""
        return self.service_factor[operator][:, :most] if operator in self.service_factor else None


def placed(plans: Sequence[PhysicalPlan], operators: Sequence[str], site: Site) -> Placed:
    """Of plans that name these operators. A plan that does not name the node of every container tells nothing of nodes.

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
    # Position -1, no container, finds the last column: no node, and a factor of 1.
    node = {name: np.take_along_axis(node_of, each, 1) for name, each in container.items()} if nodes else {}
    slowed = (factor_of != 1).any()
    factors = {name: np.take_along_axis(factor_of, each, 1) for name, each in container.items()} if slowed else {}
    return Placed(plans, parallelism, nodes, container, node, factors)
