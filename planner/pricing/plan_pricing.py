"""The hourly cost of a plan, and the price that stands for an instance-hour."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from modeling.inputs.physical_plan import Container
from modeling.inputs.topology import Topology
from planner.errors import PlanError
from planner.pricing.instance_cost import InstanceCost, hourly_cost
from planner.pricing.placing import Placing
from planner.pricing.site_prices import SitePrices

ALIKE = 8
"""Instances of each operator in the plan whose mean instance gives the price of an instance-hour."""
SLOT_PART = 0.02
"""Of the price of an instance, that a slot in use weighs: of plans that cost the same, the one that uses fewer slots is
better, but not worth a rescale. A slot has one instance of each operator at most.
"""


class PlanPricing(Protocol):
    """In any currency. instance_per_hour: the price of an instance-hour where prices and rescales are compared: the
    mean instance of a plan with ALIKE of each operator. of_instances: price of an instance of each operator; empty if
    all cost the same.
    """

    @property
    def instance_per_hour(self) -> float: ...

    @property
    def of_instances(self) -> Mapping[str, float]: ...

    def per_hour(self, parallelism: Mapping[str, int]) -> float:
        """Raises PlanError if the plan cannot be packed."""

    def weighed_per_hour(self, parallelism: Mapping[str, int]) -> float:
        """What decides between plans: the price, and a little for what a plan uses of what it pays for. Raises
        PlanError if the plan cannot be packed.
        """


class InstancePricing:
    """The cost of a plan is that of its instances."""

    def __init__(self, costs: Mapping[str, InstanceCost]) -> None:
        """Raises PlanError if an operator has no price, or all prices are 0."""
        self._costs = costs
        lacking = [name for name, cost in costs.items() if cost.price_per_hour is None]
        if lacking:
            raise PlanError(f"the price of an instance of {', '.join(lacking)} is not known; declare price_per_hour")
        self.of_instances = {name: cost.price_per_hour or 0.0 for name, cost in costs.items()}
        self.instance_per_hour = sum(self.of_instances.values()) / len(costs)
        if not self.instance_per_hour:
            raise PlanError("every price_per_hour is 0; give one above 0, or leave all out")

    def per_hour(self, parallelism: Mapping[str, int]) -> float:
        return hourly_cost(parallelism, self._costs).price or 0.0

    def weighed_per_hour(self, parallelism: Mapping[str, int]) -> float:
        return self.per_hour(parallelism)


class ContainerPricing:
    """The cost of a plan is that of the containers and nodes that its packing uses, when packed from scratch."""

    def __init__(self, placing: Placing, prices: SitePrices) -> None:
        """Raises PlanError if not even one instance of each operator can be packed, or if that costs nothing."""
        self._placing, self._prices = placing, prices
        self._known: dict[tuple[int, ...], tuple[float, int] | PlanError] = {}
        self.of_instances: Mapping[str, float] = {}
        self.instance_per_hour = _mean_instance(placing.topology, self)
        if not self.instance_per_hour:
            raise PlanError("no container or node that plans would use has a price above 0; give one, or leave all out")

    def per_hour(self, parallelism: Mapping[str, int]) -> float:
        return self._prices_of(parallelism)[0]

    def weighed_per_hour(self, parallelism: Mapping[str, int]) -> float:
        price, slots = self._prices_of(parallelism)
        return price + SLOT_PART * slots * self.instance_per_hour

    def _prices_of(self, parallelism: Mapping[str, int]) -> tuple[float, int]:
        """And slots in use."""
        key = tuple(parallelism[name] for name in self._placing.topology.order)
        if key not in self._known:
            try:
                packing = self._placing.pack(parallelism)
                self._known[key] = self._prices.per_hour(packing), _slots(packing)
            except PlanError as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, PlanError):
            raise known
        return known


def _slots(packing: Sequence[Container]) -> int:
    """In use: in each container as many as the operator with most instances has there."""
    of_each = (Counter(each.operator for each in container.instances) for container in packing)
    return sum(max(counts.values(), default=0) for counts in of_each)


def _mean_instance(topology: Topology, pricing: PlanPricing) -> float:
    """Of a plan with ALIKE of each operator, or as many as are allowed and can be packed."""
    count = ALIKE
    while True:
        several = {name: min(count, topology.operator(name).max_parallelism) for name in topology.order}
        parallelism = {**several, **topology.given_parallelism}
        try:
            return pricing.per_hour(parallelism) / sum(parallelism.values())
        except PlanError:
            if count == 1:
                raise
            count //= 2
