"""Caches the cheapest plans of one topology for many loads, and skips loads between two with the same plan.

Among loads of one mix of the sources, a plan that is the cheapest for two is so for all between: it carries the larger
one, and a cheaper plan would carry the smaller one too. If no plan carries a load, none carries a larger one.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.inputs.windowed_output import WindowKind
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.search.cheapest_plan import ALIKE, SHARE_ROUNDING, cheapest_plans, strongest_plan

_REMEMBERED = 65536
_MIX_DIGITS = 9
"""Mixes that differ by less are one."""


@dataclass
class _Mix:
    """What is known of loads of one mix, by their total rate."""

    # Loads that are carried whole, ascending, and their plans.
    rates: list[float] = field(default_factory=list)
    plans: list[PhysicalPlan] = field(default_factory=list)
    # The smallest load known to be beyond all plans, and the plan that carries most.
    beyond: tuple[float, PhysicalPlan] | None = None
    # Among loads computed together: the largest that is carried whole, the smallest that no plan carries.
    carried: float = 0.0
    not_carried: float = inf
    # The largest load of which no share is carried within the latency limits; below 0 if there is none.
    late: float = -1.0

    def between(self, rate_per_s: float) -> PhysicalPlan | None:
        if self.beyond and rate_per_s >= self.beyond[0]:
            return self.beyond[1]
        at = bisect_left(self.rates, rate_per_s)
        alike = 0 < at < len(self.rates) and self.plans[at - 1] == self.plans[at]
        return self.plans[at] if alike else None

    def remember(self, rate_per_s: float, plan: PhysicalPlan) -> None:
        at = bisect_left(self.rates, rate_per_s)
        self.rates.insert(at, rate_per_s)
        self.plans.insert(at, plan)


class RememberedPlans:
    """strongest_plan by one model, with fixed limits and prices of instances."""

    def __init__(self, model: PlanModel, limits: Limits, price: Mapping[str, float] = ALIKE) -> None:
        self.model, self.limits, self.price = model, limits, price
        topology, profiles = model.topology, model.profiles
        # Behind session windows more tuples may need fewer instances. With latency bounds the search is stepwise.
        windows = [window.kind for name in topology.order for window in profiles[name].windowed.values()]
        self._monotone = WindowKind.SESSION not in windows
        self._ordered = self._monotone and not limits.latency_bounds_s
        self._known: dict[tuple[float, ...], PhysicalPlan] = {}
        self._mixes: dict[tuple[float, ...], _Mix] = {}

    @cached_property
    def _late(self) -> "RememberedPlans":
        """For loads that no plan carries within the latency limits."""
        return RememberedPlans(self.model, self.limits.with_free_latency(), self.price)

    @property
    def topology(self) -> Topology:
        return self.model.topology

    def plan(self, load_per_s: Mapping[str, float]) -> PhysicalPlan:
        """The plan that carries the largest share of the load. Raises ModelError as strongest_plan does."""
        key = self._key(load_per_s)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
                self._mixes.clear()
            self._known[key] = (
                self._late.plan(load_per_s)
                if self._is_late(key)
                else self._mix(key).between(sum(key)) or self._worked_out(load_per_s)
            )
        return self._known[key]

    def work_out(self, loads_per_s: Sequence[Mapping[str, float]]) -> None:
        """Compute plans for several loads together, which is faster than one by one."""
        several = {self._key(load): load for load in loads_per_s}
        new = [key for key in several if key not in self._known and self._mix(key).between(sum(key)) is None]
        if late := [key for key in new if self._is_late(key)]:
            self._late.work_out([several[key] for key in late])
            new = [key for key in new if key not in late]
        found = cheapest_plans(self.model, [several[key] for key in new], self.limits, self.price)
        # Loads that no plan carries whole are computed on demand.
        whole = {key: plan for key, plan in zip(new, found, strict=True) if isinstance(plan, PhysicalPlan)}
        self._known |= whole
        if self._ordered:
            for key, plan in whole.items():
                self._mix(key).remember(sum(key), plan)
            return
        for key in new:
            if key not in whole:
                mix = self._mix(key)
                mix.not_carried = min(mix.not_carried, sum(key))
        for key in whole:
            mix = self._mix(key)
            if sum(key) < mix.not_carried:
                mix.carried = max(mix.carried, sum(key))

    def _is_late(self, key: tuple[float, ...]) -> bool:
        return sum(key) <= self._mix(key).late

    def _key(self, load_per_s: Mapping[str, float]) -> tuple[float, ...]:
        return tuple([load_per_s[source] for source in self.topology.sources])

    def _mix(self, key: tuple[float, ...]) -> _Mix:
        total = sum(key)
        mix = tuple([round(rate / total, _MIX_DIGITS) for rate in key]) if total > 0 and len(key) > 1 else ()
        return self._mixes.setdefault(mix, _Mix())

    def _worked_out(self, load_per_s: Mapping[str, float]) -> PhysicalPlan:
        key = self._key(load_per_s)
        rate, mix = sum(key), self._mix(key)
        known = None
        if self._monotone and rate >= mix.not_carried > mix.carried:
            known = mix.carried / rate, mix.not_carried / rate
        plan, share, late = strongest_plan(self.model, load_per_s, self.limits, self.price, known)
        if late and self._monotone:
            mix.late = max(mix.late, rate)
        if self._monotone and share < 1.0:
            mix.beyond = rate * (share + SHARE_ROUNDING), plan
        elif self._ordered:
            mix.remember(rate, plan)
        return plan
