"""Cores that containers use without work, of which their instances have the less for tuples."""

from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.flow.crossing import by_place
from modeling.flow.rates import OperatorFlow
from modeling.inputs.placed import Placed


@dataclass(frozen=True)
class IdleCores:
    """By container, shape (plans, containers). of_instances: all together. of_containers: beside these, the most that
    an operator in the container knows of: all of them share one process.
    """

    of_instances: Floats
    of_containers: Floats

    @classmethod
    def none(cls, plans: Placed, containers: int) -> "IdleCores":
        nothing = np.zeros((len(plans.plans), containers))
        return cls(nothing, nothing)

    def plus(self, flow: OperatorFlow, plans: Placed) -> "IdleCores":
        """With those of one more operator."""
        profile = flow.profile
        if profile.idle_cores == profile.container_idle_cores == 0:
            return self
        factors, place = flow.node_factors()[flow.row], plans.container[flow.name]
        counted = by_place(factors[:, None], place, self.of_instances.shape[1])[:, 0]
        there = by_place((factors > 0)[:, None].astype(np.float64), place, self.of_instances.shape[1])[:, 0]
        of_container = profile.container_idle_cores * counted / np.maximum(there, 1.0)
        return IdleCores(self.of_instances + profile.idle_cores * counted, np.maximum(self.of_containers, of_container))

    @property
    def total(self) -> Floats:
        return self.of_instances + self.of_containers
