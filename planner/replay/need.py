"""The cheapest plan for a load by the model, cached for many requests."""

import math
from collections.abc import Mapping

from modeling.inputs.topology import Topology
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.search.remembered_plans import RememberedPlans

_FINENESS = math.log(1.0025)


class Need:
    """Loads are rounded up by at most 0.25 %, so that similar loads share a plan."""

    def __init__(self, model: PlanModel, limits: Limits) -> None:
        self.model, self.limits = model, limits
        self._known = RememberedPlans(model, limits)

    @property
    def topology(self) -> Topology:
        return self.model.topology

    def plan(self, load_per_s: Mapping[str, float]) -> Mapping[str, int]:
        """The fewest instances within the limits under the load; the strongest plan if there are none."""
        rounded = {source: _rounded_up(load_per_s[source]) for source in self.topology.sources}
        return self._known.plan(rounded).parallelism


def _rounded_up(rate_per_s: float) -> float:
    """The next grid value, in steps of 0.25 %."""
    return 0.0 if rate_per_s <= 0 else math.exp(math.ceil(math.log(rate_per_s) / _FINENESS - 1e-9) * _FINENESS)
