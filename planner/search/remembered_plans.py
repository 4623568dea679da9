"""Caches the cheapest plans of one topology for many loads, and skips loads between two with the same plan.

With one source, a plan that is the cheapest for two loads is so for all loads between: it carries the larger one, and a
cheaper plan would carry the smaller one too. If no plan carries a load, none carries a larger one.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import inf

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.inputs.windowed_output import WindowKind
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.search.cheapest_plan import ALIKE, SHARE_ROUNDING, cheapest_plans, strongest_plan

_REMEMBERED = 65536


class RememberedPlans:
    """strongest_plan by one model, with fixed limits and prices of instances."""

    def __init__(self, model: PlanModel, limits: Limits, price: Mapping[str, float] = ALIKE) -> None:
        self.model, self.limits, self.price = model, limits, price
        topology, profiles = model.topology, model.profiles
        # Behind session windows more tuples may need fewer instances. With latency bounds the search is stepwise.
        windows = [window.kind for name in topology.order for window in profiles[name].windowed.values()]
        self._monotone = len(topology.sources) == 1 and WindowKind.SESSION not in windows
        self._ordered = self._monotone and not limits.latency_bounds_s
        self._known: dict[tuple[float, ...], PhysicalPlan] = {}
        # Loads that are carried whole, ascending, and their plans.
        self._rates: list[float] = []
        self._plans: list[PhysicalPlan] = []
        # The smallest load known to be beyond all plans, and the plan that carries most.
        self._beyond: tuple[float, PhysicalPlan] | None = None
        # Among loads computed together: the largest that is carried whole, the smallest that no plan carries.
        self._carried, self._not_carried = 0.0, inf

    @property
    def topology(self) -> Topology:
        return self.model.topology

    def plan(self, load_per_s: Mapping[str, float]) -> PhysicalPlan:
        """The plan that carries the largest share of the load. Raises ModelError as strongest_plan does."""
        key = self._key(load_per_s)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._between(key[0]) or self._worked_out(load_per_s)
        return self._known[key]

    def work_out(self, loads_per_s: Sequence[Mapping[str, float]]) -> None:
        """Compute plans for several loads together, which is faster than one by one."""
        several = {self._key(load): load for load in loads_per_s}
        new = [key for key in several if key not in self._known and self._between(key[0]) is None]
        found = cheapest_plans(self.model, [several[key] for key in new], self.limits, self.price)
        # Loads that no plan carries whole are computed on demand.
        whole = {key: plan for key, plan in zip(new, found, strict=True) if isinstance(plan, PhysicalPlan)}
        self._known |= whole
        if self._ordered:
            for key, plan in whole.items():
                self._remember(key[0], plan)
            return
        self._not_carried = min([self._not_carried, *(key[0] for key in new if key not in whole)])
        carried = (key[0] for key in whole if key[0] < self._not_carried)
        self._carried = max([self._carried, *carried])

    def _key(self, load_per_s: Mapping[str, float]) -> tuple[float, ...]:
        return tuple([load_per_s[source] for source in self.topology.sources])

    def _between(self, rate_per_s: float) -> PhysicalPlan | None:
        if self._beyond and rate_per_s >= self._beyond[0]:
            return self._beyond[1]
        at = bisect_left(self._rates, rate_per_s)
        alike = 0 < at < len(self._rates) and self._plans[at - 1] == self._plans[at]
        return self._plans[at] if alike else None

    def _worked_out(self, load_per_s: Mapping[str, float]) -> PhysicalPlan:
        rate = load_per_s[self.topology.sources[0]]
        known = None
        if self._monotone and rate >= self._not_carried > self._carried:
            known = self._carried / rate, self._not_carried / rate
        plan, share = strongest_plan(self.model, load_per_s, self.limits, self.price, known)
        if self._monotone and share < 1.0:
            self._beyond = rate * (share + SHARE_ROUNDING), plan
        elif self._ordered:
            self._remember(rate, plan)
        return plan

    def _remember(self, rate_per_s: float, plan: PhysicalPlan) -> None:
        at = bisect_left(self._rates, rate_per_s)
        self._rates.insert(at, rate_per_s)
        self._plans.insert(at, plan)
