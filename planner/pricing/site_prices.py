"""A site's hourly prices: of each container, and of each node that holds one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from modeling.inputs.physical_plan import Container
from planner.errors import PlanError


@dataclass(frozen=True)
class SitePrices:
    """In any currency, per hour. container_per_hour: of each container; None if it costs nothing besides its node.
    node_per_hour: of each node that holds a container, by name.
    """

    container_per_hour: float | None = None
    node_per_hour: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether any price is above 0."""
        return bool(self.container_per_hour) or any(self.node_per_hour.values())

    def check(self, nodes: Iterable[str]) -> None:
        """Raises PlanError if one of these nodes has no price while others of the site have."""
        if self.node_per_hour and (lacking := sorted(set(nodes) - set(self.node_per_hour))):
            raise PlanError(
                f"node {lacking[0]} has no price, and {', '.join(sorted(self.node_per_hour))} have; give it a "
                "price_per_hour in the site file (0 where it is free), or leave it out of packing.nodes"
            )

    def per_hour(self, packing: tuple[Container, ...]) -> float:
        """Of all containers, and of each of their nodes once."""
        nodes = {container.node for container in packing if container.node}
        return len(packing) * (self.container_per_hour or 0.0) + sum(
            self.node_per_hour.get(node, 0.0) for node in nodes
        )


FREE = SitePrices()
"""No prices."""
