"""Candidates ranked: the least likely to miss its targets first, then the cheapest, then the least disruptive."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isnan

from modeling.candidates import Candidates
from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.instance_changes import InstanceChanges, instance_changes
from planner.pricing.instance_cost import HourlyCost, InstanceCost, hourly_cost

_DIGITS = 9
"""What differs by rounding alone is the same."""

_UNITS = {"price": "an hour", "cores": "cores", "memory_gib": "GiB of memory"}
"""Of what is known of the cost: a price says it all; without one cores go before memory."""


@dataclass(frozen=True)
class RankedPlan:
    """number: among the candidates. cost: of the plan; weighed: what counts of it, with its unit: the first that
    differs. change: from the plan that runs; None where that is not known. excuse: why it is not first; None for that.
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
        """Less is better. No price makes good a plan that misses for certain: of those the one with more headroom."""
        certain = self.probability == 1
        disruption = 0 if self.change is None else self.change.total
        amounts = [amount for amount, _ in self.weighed]
        return (self.probability, -self.headroom if certain else 0.0, *amounts, disruption, -self.headroom)


def ranked(
    candidates: Candidates, costs: Mapping[str, InstanceCost], running: PhysicalPlan | None = None
) -> tuple[RankedPlan, ...]:
    """Best first: by the joint probability of missing any target, then cost, then instances that the change from
    `running` starts, stops and moves; then headroom, then as they were given.

    costs: by operator; where they tell no sum, instances are counted. A plan that is none of the topology's is last.
    """
    probability, headroom = candidates.probability(), candidates.headroom
    found = []
    for number, plan in enumerate(candidates.plans):
        cost = hourly_cost(plan.parallelism, costs)
        change = None if running is None else instance_changes(running, plan)
        often, room = _rounded(float(probability[number])), _rounded(float(headroom[number]))
        found.append(RankedPlan(number, plan, often, room, cost, _weighed(plan, cost), change))
    misfits = candidates.estimates.excuses
    first, *others = sorted(found, key=lambda one: (one.number in misfits, *one.key))
    return (
        replace(first, excuse=misfits.get(first.number)),
        *(replace(one, excuse=misfits.get(one.number) or _excuse(candidates, one, first)) for one in others),
    )


def _rounded(value: float) -> float:
    return inf if isnan(value) else round(value, _DIGITS)


def _weighed(plan: PhysicalPlan, cost: HourlyCost) -> tuple[tuple[float, str], ...]:
    """A price of 0 tells as little as none."""
    known = [(round(each, _DIGITS), unit) for name, unit in _UNITS.items() if (each := getattr(cost, name))]
    return tuple(known[:1] if cost.price else known) or ((float(plan.instances), "instances"),)


def _excuse(candidates: Candidates, one: RankedPlan, first: RankedPlan) -> Excuse:
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
            return Excuse(
                one.plan, "cost", "", amount, least, reason, "lower its parallelism as far as the targets allow"
            )
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
