"""The cheapest plan for a load by the model, cached for many requests."""

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.least_parallelism import ROUNDING
from planner.horizon.ladder import ladder_of
from planner.limits import Limits
from planner.plan_model import WAITING_ROUNDS, PlanModel
from planner.search.remembered_plans import RememberedPlans

_FINENESS = math.log(1.0025)
_KEPT = 65536


class Need:
    """Loads are rounded up by at most 0.25 %, so that similar loads share a plan."""

    def __init__(self, model: PlanModel, limits: Limits) -> None:
        self.model, self.limits = model, limits
        self._known = RememberedPlans(model, limits)
        self._beside_waits = lru_cache(_KEPT)(self._carrying)

    @property
    def topology(self) -> Topology:
        return self.model.topology

    def plan(self, load_per_s: Mapping[str, float]) -> Mapping[str, int]:
        """The fewest instances within the limits under the load; the strongest plan if there are none."""
        rounded = {source: _rounded_up(load_per_s[source]) for source in self.topology.sources}
        if self.model.services is None or not any(rounded.values()):
            return self._known.plan(rounded).parallelism
        return self._beside_waits(tuple(rounded.values())).parallelism

    def _carrying(self, rates_per_s: tuple[float, ...]) -> PhysicalPlan:
        """Of services: the plan of the smallest load tried whose threads let these rates through."""
        asked, total = dict(zip(self.topology.sources, rates_per_s, strict=True)), sum(rates_per_s)
        mix, load_per_s, plan = np.array([rates_per_s]).T / total, asked, self._known.plan(asked)
        for _ in range(WAITING_ROUNDS):
            ladder = ladder_of([plan], self.model, self.limits.max_utilisation, load_per_s)
            if (carried_per_s := float(ladder.capacity_per_s(mix)[0, 0])) * ROUNDING >= total:
                break
            asked = {source: rate * total / carried_per_s for source, rate in asked.items()}
            before, plan = plan, self._known.plan(asked)
            if plan == before:
                break
        return plan


def _rounded_up(rate_per_s: float) -> float:
    """The next grid value, in steps of 0.25 %."""
    return 0.0 if rate_per_s <= 0 else math.exp(math.ceil(math.log(rate_per_s) / _FINENESS - 1e-9) * _FINENESS)
