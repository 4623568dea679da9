"""Ways to cover the slots of a demand with plans, and the cheapest of them by dynamic programming over its rescales."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from math import ceil, inf, isfinite

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.least_parallelism import ROUNDING
from modeling.rescaling.recovery import catch_up_s
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.search.remembered_plans import RememberedPlans


@dataclass(frozen=True)
class Cost:
    """Ordered: first seconds in which the target is missed, then by how much, then instance-hours and rescales.

    excess_s: seconds weighted by what utilisation exceeds the bound, so that of two plans that are both too small the
    larger is the better.
    """

    short_s: float
    excess_s: float
    instance_hours: float

    def __add__(self, other: "Cost") -> "Cost":
        hours = self.instance_hours + other.instance_hours
        return Cost(self.short_s + other.short_s, self.excess_s + other.excess_s, hours)

    @property
    def told(self) -> tuple[float, float, float]:
        return self.short_s, self.excess_s, self.instance_hours

    @property
    def ordered(self) -> tuple[float, float, float]:
        return round(self.short_s, 3), round(self.excess_s, 3), round(self.instance_hours, 6)


@dataclass(frozen=True)
class Slots:
    """One plan in every slot: utilisation, whether it misses the target, and how long a downtime's backlog drains.

    missed_before, beyond_before: in how many slots before each one, and in all, it misses the target, and is busier
    than it may be.
    """

    used: Floats
    missed: Flags
    drain_s: list[float]
    missed_before: list[int]
    beyond_before: list[int]


@dataclass(frozen=True)
class Change:
    """A plan, by its number, that takes another's place: needed from slot `first` on. Seconds count from the demand's
    start; drain_s is catch-up after the downtime.
    """

    plan: int
    first: int
    deploy_s: float
    in_place_s: float
    drain_s: float
    cost: Cost


@dataclass(frozen=True)
class Way:
    """Changes that cover the slots so far; plan: the one that runs then. free_s: the next is deployed after that."""

    plan: int
    cost: Cost
    changes: tuple[Change, ...] = ()
    free_s: float = -inf


@dataclass(eq=False)
class Terms:
    """Everything that the search asks of demand and model, each question answered once. Plans are numbered, the running
    one is 0.
    """

    topology: Topology
    profiles: Profiles
    demand: Demand
    current: PhysicalPlan
    limits: Limits
    rescale: RescaleTerms
    made_at: datetime
    cheapest: RememberedPlans

    def __post_init__(self) -> None:
        self.slot_h, self.cv2 = self.demand.slot_s / 3600, self.demand.arrival_cv2
        self.plans = [replace(self.current, packing=())]
        self.plan_for, self.over_slots = cache(self._plan_for), cache(self._over_slots)
        self.running, self.change = cache(self._running), cache(self._change)
        self.change_terms = cache(self._change_terms)

    def _plan_for(self, peak: tuple[tuple[str, float], ...]) -> int:
        plan = self.cheapest.plan(dict(peak))
        for number, known in enumerate(self.plans):
            if plan.same_parallelism(known):
                return number
        self.plans.append(plan)
        return len(self.plans) - 1

    def plan_over(self, first: int, last: int) -> int:
        """The cheapest plan for all slots of [first, last)."""
        return self.plan_for(tuple(self.demand.peak_per_s(first, last).items()))

    def _running(self, plan: int, first: int, last: int) -> Cost:
        over, slot_s = self.over_slots(plan), float(self.demand.slot_s)
        hours = self.plans[plan].instances * (last - first) * self.slot_h
        short_s = slot_s * (over.missed_before[last] - over.missed_before[first])
        if over.beyond_before[last] == over.beyond_before[first]:
            return Cost(short_s, 0.0, hours)
        beyond = over.used[first:last] / self.limits.max_utilisation
        return Cost(short_s, slot_s * float((beyond[beyond > ROUNDING] - 1).sum()), hours)

    def _over_slots(self, number: int) -> Slots:
        slow, plans, rates = self.limits.max_latency_s, [self.plans[number]], self.demand.rate_per_s
        asked = self.topology, self.profiles, plans, rates
        many = evaluate_many(*asked, latency=slow is not None, arrival_cv2=self.cv2)
        used = many.utilisation[0].max(axis=1)
        short = used > self.limits.max_utilisation * ROUNDING
        if slow is not None and many.latency is not None:
            short |= many.latency.mean_s[0] > slow * ROUNDING
        # The source that takes longest counts.
        drain_s = [
            max(catch_up_s(rate, rate * scale if rate else 0.0, self.rescale.downtime_s) for rate in slot)
            for *slot, scale in zip(
                *(each.tolist() for each in rates.values()), many.saturation_scale[0].tolist(), strict=True
            )
        ]
        beyond = used / self.limits.max_utilisation > ROUNDING
        counts = [[0, *np.cumsum(each).tolist()] for each in (short, beyond)]
        return Slots(used, short, drain_s, *counts)

    def _change(self, before: int, plan: int, first: int) -> Change:
        """When a plan is deployed that is needed from slot `first` on, and what that costs beside running it from there
        on: early enough to be in place safety_s before its load, or at once; with its load when it only takes instances
        away.
        """
        slot_s, terms, over = self.demand.slot_s, self.rescale, self.over_slots(plan)
        needed_s, drain_s = float(first * slot_s), over.drain_s[first]

        def in_place_after_s() -> float:
            return terms.downtime_s + min(drain_s, terms.max_catch_up_s)

        deploy_s, few = needed_s, self.plans[before].parallelism
        if any(count > few[name] for name, count in self.plans[plan].parallelism.items()):
            slot = max(0, first - 1)
            drain_s = over.drain_s[slot]
            while (deploy_s := needed_s - in_place_after_s() - terms.safety_s) < slot * slot_s and slot > 0:
                slot -= 1
                drain_s = max(drain_s, over.drain_s[slot])
        deploy_s = max((self.made_at - self.demand.start).total_seconds(), deploy_s)
        if deploy_s + in_place_after_s() > needed_s:
            drain_s = max(drain_s, over.drain_s[first])
        in_place_s = deploy_s + in_place_after_s()
        # A plan that grows here and shrinks there runs already while its lead passes, and must carry that load too. A
        # drain that never ends belongs to a plan that is too small: that is counted where it runs, not here.
        begin = min(first, max(0, int(deploy_s // slot_s)))
        ended_s = deploy_s + terms.downtime_s + drain_s if isfinite(drain_s) else in_place_s
        end = min(self.demand.slots, max(first, ceil(ended_s / slot_s)))
        early, late = over.missed[begin:first], over.missed[first:end]
        already = self.over_slots(before).missed[begin:first]
        beyond_s = max(0.0, terms.downtime_s - terms.max_lag_s) + max(0.0, ended_s - in_place_s)
        carried = np.count_nonzero(~(early | already)) + np.count_nonzero(~late)
        short_s = slot_s * np.count_nonzero(early & ~already) + min(beyond_s, float(slot_s * carried))
        return Change(plan, first, deploy_s, in_place_s, drain_s, Cost(short_s, 0.0, terms.cost_instance_hours))

    def _change_terms(self, before: int, plan: int, first: int) -> tuple[float, float, float, float, float]:
        change = self.change(before, plan, first)
        return change.deploy_s, change.in_place_s, *change.cost.told

    def followed(self, way: Way, plan: int, first: int, last: int) -> Way | None:
        """With a plan for the slots [first, last) after it; None where that would have to be deployed before the plan
        that it replaces is in place, or before the load of that has begun.
        """
        cost = way.cost + self.running(plan, first, last)
        if plan == way.plan:
            return replace(way, cost=cost)
        change = self.change(way.plan, plan, first)
        if change.deploy_s <= way.free_s:
            return None
        free_s = max(change.in_place_s, float(first * self.demand.slot_s))
        return Way(plan, cost + change.cost, (*way.changes, change), free_s)

    def held(self, last: int) -> Way:
        """The running plan over the slots [0, last)."""
        return Way(0, self.running(0, 0, last))

    def hours(self, way: Way) -> float:
        return way.cost.instance_hours - self.rescale.cost_instance_hours * len(way.changes)


def best_way(terms: Terms, earliest_change: int) -> Way:
    """The cheapest way to cover all slots.

    Of the ways to each slot it keeps, per plan that may run then, the cheapest one, and dearer ones that are ready for
    another change earlier: what comes later depends on the past through these two alone.
    """
    slots = terms.demand.slots
    dwell = max(1, ceil(terms.rescale.min_dwell_s / terms.demand.slot_s))
    known = _Ways.of(terms.held(0))
    for last in range(1, slots + 1):
        ways = _Ways.of(terms.held(last), last)
        until = last if last == slots else last - dwell + 1
        if earliest_change < until:
            ways = ways.and_these(_continued(terms, known, earliest_change, until, last))
        known = known.and_these(ways.cheapest())
    return known.way(terms, int(np.flatnonzero(known.at == slots)[0]))


def _continued(terms: Terms, known: "_Ways", first: int, until: int, last: int) -> "_Ways":
    """Those of the known ways that end at slots of [first, until), each with one plan from there to slot last."""
    rows = np.flatnonzero((known.at >= first) & (known.at < until))
    at, before, cost, free_s = known.at[rows], known.plan[rows], known.cost[rows], known.free_s[rows]
    plans = [terms.plan_over(each, last) for each in range(first, until)]
    running = [terms.running(plan, each, last) for plan, each in zip(plans, range(first, until), strict=True)]
    plan = np.array(plans)[at - first]
    cost = cost + np.array([each.told for each in running])[at - first]
    pairs = zip(before.tolist(), plan.tolist(), at.tolist(), strict=True)
    changes = [terms.change_terms(*each) if each[0] != each[1] else _NO_CHANGE for each in pairs]
    deploy_s, in_place_s, *change_cost = np.array(changes).T
    stays = plan == before
    free_s = np.where(stays, free_s, np.maximum(in_place_s, at * float(terms.demand.slot_s)))
    ways = _Ways(np.full(rows.size, last), plan, cost + np.column_stack(change_cost), free_s, rows)
    return ways.these(np.flatnonzero(stays | (deploy_s > known.free_s[rows])))


_NO_CHANGE = (inf, -inf, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Ways:
    """Many ways; arrays of shape (ways,). at: the slot that each ends at; plan: what runs then. cost: as of Cost, shape
    (ways, 3). free_s: as of Way. before: the way that it continues; -1: the running plan is held.
    """

    at: Ints
    plan: Ints
    cost: Floats
    free_s: Floats
    before: Ints

    @staticmethod
    def of(held: Way, at: int = 0) -> "_Ways":
        cost = np.array([held.cost.told])
        return _Ways(np.array([at]), np.array([held.plan]), cost, np.array([held.free_s]), np.array([-1]))

    def these(self, rows: Ints) -> "_Ways":
        return _Ways(self.at[rows], self.plan[rows], self.cost[rows], self.free_s[rows], self.before[rows])

    def and_these(self, more: "_Ways") -> "_Ways":
        return _Ways(
            np.concatenate([self.at, more.at]),
            np.concatenate([self.plan, more.plan]),
            np.concatenate([self.cost, more.cost]),
            np.concatenate([self.free_s, more.free_s]),
            np.concatenate([self.before, more.before]),
        )

    def cheapest(self) -> "_Ways":
        """Per plan the cheapest one and dearer ones that are free earlier; the cheapest of all first."""
        short_s, excess_s, hours = self.cost.T
        order = np.lexsort((self.free_s, hours.round(6), excess_s.round(3), short_s.round(3)))
        kept: dict[int, list[int]] = {}
        free_s: dict[int, float] = {}
        for row, plan, free in zip(order.tolist(), self.plan[order].tolist(), self.free_s[order].tolist(), strict=True):
            if free < free_s.get(plan, inf) or plan not in kept:
                kept.setdefault(plan, []).append(row)
                free_s[plan] = free
        return self.these(np.array([row for rows in kept.values() for row in rows]))

    def way(self, terms: Terms, row: int) -> Way:
        """One of them, with its changes."""
        changes, at = [], row
        while (before := int(self.before[at])) >= 0:
            if self.plan[before] != self.plan[at]:
                changes.append(terms.change(int(self.plan[before]), int(self.plan[at]), int(self.at[before])))
            at = before
        return Way(int(self.plan[row]), Cost(*self.cost[row].tolist()), tuple(changes[::-1]), float(self.free_s[row]))
