"""Ranks candidates by probability of missing a target, then cost, then disruption."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isnan

from modeling.candidates import Candidates
from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.instance_changes import InstanceChanges, instance_changes
from planner.pricing.instance_cost import HourlyCost, InstanceCost, hourly_cost
from planner.pricing.site_prices import FREE, SitePrices

_DIGITS = 9
"""Rounding, so that floating-point noise breaks no ties."""

_UNITS = {"price": "an hour", "cores": "cores", "memory_gib": "GiB of memory"}
"""Measures of cost. A price is used alone; without one, cores come before memory."""


@dataclass(frozen=True)
class RankedPlan:
    """number: index among the candidates. cost: of the plan; weighed: the amounts that are compared, in order, each
    with its unit. change: from the running plan, None if unknown. excuse: why it is not first; None for the first.
    """

    number: int
    plan: PhysicalPlan
    probability: float
    headroom: float
    cost: HourlyCost
    weighed: tuple[tuple[float, str], ...]
    change: InstanceChanges | None
    excuse: Excuse | None = None

    @property
    def key(self) -> tuple[float, ...]:
        """Smaller is better. Plans that miss for certain are compared by headroom before price."""
        certain = self.probability == 1
        disruption = 0 if self.change is None else self.change.total
        amounts = [amount for amount, _ in self.weighed]
        return (self.probability, -self.headroom if certain else 0.0, *amounts, disruption, -self.headroom)


def ranked(
    candidates: Candidates,
    costs: Mapping[str, InstanceCost],
    running: PhysicalPlan | None = None,
    prices: SitePrices = FREE,
) -> tuple[RankedPlan, ...]:
    """Best first: by the joint probability of missing any target, then cost, then instances that the change from
    `running` starts, stops and moves, then headroom, then input order.

    costs: by operator; if they give no total, instances are counted. prices: of the containers and nodes of plans that
    all have a packing, where instances have none. A plan that does not fit the topology comes last. Raises PlanError
    for a node without a price beside others that have one.
    """
    probability, headroom = candidates.probability(), candidates.headroom
    instances_priced = any(each.price_per_hour is not None for each in costs.values())
    by_container = prices.known and not instances_priced and all(plan.packing for plan in candidates.plans)
    if by_container:
        prices.check(container.node for plan in candidates.plans for container in plan.packing if container.node)
    found = []
    for number, plan in enumerate(candidates.plans):
        cost = hourly_cost(plan.parallelism, costs)
        if by_container:
            cost = replace(cost, price=prices.per_hour(plan.packing))
        change = None if running is None else instance_changes(running, plan)
        often, room = _rounded(float(probability[number])), _rounded(float(headroom[number]))
        found.append(RankedPlan(number, plan, often, room, cost, _weighed(plan, cost), change))
    cheaper = "use fewer or cheaper containers" if by_container else "lower its parallelism"
    misfits = candidates.estimates.excuses
    first, *others = sorted(found, key=lambda one: (one.number in misfits, *one.key))
    return (
        replace(first, excuse=misfits.get(first.number)),
        *(replace(one, excuse=misfits.get(one.number) or _excuse(candidates, one, first, cheaper)) for one in others),
    )


def _rounded(value: float) -> float:
    return inf if isnan(value) else round(value, _DIGITS)


def _weighed(plan: PhysicalPlan, cost: HourlyCost) -> tuple[tuple[float, str], ...]:
    """A price of 0 is treated as unknown."""
    known = [(round(each, _DIGITS), unit) for name, unit in _UNITS.items() if (each := getattr(cost, name))]
    return tuple(known[:1] if cost.price else known) or ((float(plan.instances), "instances"),)


def _excuse(candidates: Candidates, one: RankedPlan, first: RankedPlan, cheaper: str) -> Excuse:
    if one.probability > first.probability:
        return candidates.missed(one.number, first.number)
    certain = "misses its targets for certain, as the best does, and "
    if one.probability == 1 and one.headroom < first.headroom:
        return _fuller(one, first, certain)
    since = f"misses its targets with probability {one.probability:.3g}, as the best does, and "
    for (amount, unit), (least, _) in zip(one.weighed, first.weighed, strict=True):
        if amount > least:
            more = f" ({amount / least - 1:+.1%})" if least else ""
            reason = f"{since}costs {amount:.4g} {unit} where the best costs {least:.4g}{more}"
            return Excuse(one.plan, "cost", "", amount, least, reason, f"{cheaper} as far as the targets allow")
    if one.change is not None and first.change is not None and one.change.total > first.change.total:
        reason = f"{since}at the same cost changes more: {one.change}, the best {first.change}"
        value, bound = float(one.change.total), float(first.change.total)
        return Excuse(one.plan, "disruption", "", value, bound, reason, "keep more instances where they run")
    if one.headroom < first.headroom:
        return _fuller(one, first, f"{since}at the same cost ")
    reason = f"{since}is as good in cost, disruption and headroom, and comes later in the list"
    return Excuse(one.plan, "order", "", one.number, first.number, reason, "either will do")


def _fuller(one: RankedPlan, first: RankedPlan, since: str) -> Excuse:
    reason = f"{since}carries {one.headroom:.4g} times the load where the best carries {first.headroom:.4g}"
    return Excuse(
        one.plan, "headroom", "", one.headroom, first.headroom, reason, "spread its fullest instances further"
    )
