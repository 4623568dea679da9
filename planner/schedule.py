"""make_schedule(): which plan from when. Dynamic programming over where to rescale; exact for its objective."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import accumulate
from math import ceil, isfinite

import numpy as np

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.excuse import Excuse
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.recovery import catch_up_s
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.scaling_schedule import Alternative, ScalingSchedule, ScheduledStep
from planner.search.cheapest_plan import cheapest_plan, one_fewer, strongest_plan


@dataclass(frozen=True)
class _Cost:
    """Ordered: first seconds in which the target is missed, then by how much, then instance-hours and rescales.

    excess_s: seconds weighted by what utilisation exceeds the bound, so that of two plans that are both too small the
    larger is the better.
    """

    short_s: float
    excess_s: float
    instance_hours: float

    def __add__(self, other: "_Cost") -> "_Cost":
        return _Cost(
            self.short_s + other.short_s,
            self.excess_s + other.excess_s,
            self.instance_hours + other.instance_hours,
        )

    def ordered(self) -> tuple[float, float, float]:
        return round(self.short_s, 3), round(self.excess_s, 3), round(self.instance_hours, 6)

    def __lt__(self, other: "_Cost") -> bool:
        return self.ordered() < other.ordered()


_NOTHING = _Cost(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Segment:
    """Slots [first, last) under one plan."""

    first: int
    last: int
    plan: PhysicalPlan


@dataclass(frozen=True)
class _Lead:
    """drain_s: catch-up after the downtime. lead_s: how much earlier to deploy; slots: how many slots that reaches
    back.
    """

    drain_s: float
    lead_s: float
    slots: int


class _Terms:
    """Everything that the search asks of demand and model, each question answered once."""

    def __init__(
        self, topology: Topology, profiles: Profiles, demand: Demand, limits: Limits, rescale: RescaleTerms
    ) -> None:
        self.topology, self.profiles, self.demand = topology, profiles, demand
        self.limits, self.rescale = limits, rescale
        self.slot_h = demand.slot_s / 3600
        self.plan_for = cache(self._plan_for)
        self.over_slots = cache(self._over_slots)

    def _plan_for(self, peak: tuple[tuple[str, float], ...]) -> PhysicalPlan:
        return strongest_plan(self.topology, self.profiles, dict(peak), self.limits)[0]

    def plan_over(self, first: int, last: int) -> PhysicalPlan:
        """The cheapest plan for all slots of [first, last)."""
        return self.plan_for(tuple(sorted(self.demand.peak_per_s(first, last).items())))

    def running(self, plan: PhysicalPlan, first: int, last: int) -> _Cost:
        short_s, excess_s, _ = self.over_slots(tuple(sorted(plan.parallelism.items())))
        hours = plan.instances * (last - first) * self.slot_h
        return _Cost(short_s[last] - short_s[first], excess_s[last] - excess_s[first], hours)

    def catch_up(self, plan: PhysicalPlan, slot: int) -> float:
        """Seconds to drain the backlog of a downtime at the load of the slot; the source that takes longest counts."""
        return self.over_slots(tuple(sorted(plan.parallelism.items())))[2][slot]

    def _over_slots(self, parallelism: tuple[tuple[str, int], ...]) -> tuple[list[float], list[float], list[float]]:
        """Of one plan: seconds in which it misses the target (all or none of a slot) and its excess_s, summed over the
        slots before each, so that a span is one difference; and the seconds that a downtime's backlog takes to drain in
        each slot.
        """
        plan, slot_s = PhysicalPlan(self.topology.name, dict(parallelism)), float(self.demand.slot_s)
        rates, slow = self.demand.rate_per_s, self.limits.max_latency_s
        many = evaluate_many(self.topology, self.profiles, [plan], rates, latency=slow is not None)
        beyond = many.utilisation[0].max(axis=1) / self.limits.max_utilisation - 1
        missed = beyond > 1e-9
        excess_s = np.where(missed, slot_s * beyond, 0.0)
        if slow is not None and many.latency is not None:
            missed = missed | (many.latency.mean_s[0] > slow)
        drain_s = [
            max(
                float(catch_up_s(rate, rate * scale if rate else 0.0, self.rescale.downtime_s))
                for rate in self.demand.peak_per_s(slot, slot + 1).values()
            )
            for slot, scale in enumerate(many.saturation_scale[0].tolist())
        ]
        short_s = accumulate(np.where(missed, slot_s, 0.0).tolist(), initial=0.0)
        return list(short_s), list(accumulate(excess_s.tolist(), initial=0.0)), drain_s

    def lead(self, before: PhysicalPlan, after: PhysicalPlan, first: int) -> _Lead:
        """How long before its first slot a plan is deployed: not at all when it only takes instances away."""
        if not _grows(before, after):
            return _Lead(self.catch_up(after, first), 0.0, 0)
        back, drain_s = 1, self.catch_up(after, max(0, first - 1))
        while True:
            spent_s = min(drain_s, self.rescale.max_catch_up_s)
            lead_s = self.rescale.downtime_s + spent_s + self.rescale.safety_s
            if ceil(lead_s / self.demand.slot_s) <= back or back >= first:
                return _Lead(drain_s, lead_s, min(back, first))
            back += 1
            drain_s = max(drain_s, self.catch_up(after, first - back))

    def in_order(self, before: _Segment, plan: PhysicalPlan, first: int) -> bool:
        """Whether the plan would be deployed only once the load of the one it replaces has begun.

        A lead longer than the segment before would have it deployed first, in place of a plan that does not run yet.
        """
        if before.plan.same_parallelism(plan):
            return True
        lead_s = self.lead(before.plan, plan, first).lead_s
        return first * self.demand.slot_s - lead_s > before.first * self.demand.slot_s

    def rescaling(self, before: PhysicalPlan, after: PhysicalPlan, first: int) -> _Cost:
        """What changing to a plan that is needed from slot `first` on costs, beside running it from there on."""
        if before.same_parallelism(after):
            return _NOTHING
        lead = self.lead(before, after, first)
        # A drain that never ends belongs to a plan that is too small: that is counted where it runs, not here.
        short_s = max(0.0, lead.drain_s - self.rescale.max_catch_up_s) if isfinite(lead.drain_s) else 0.0
        short_s += max(0.0, self.rescale.downtime_s - self.rescale.max_lag_s)
        # A plan that grows here and shrinks there runs already while its lead passes, and must carry that load too.
        short_s += self.running(after, first - lead.slots, first).short_s
        return _Cost(short_s, 0.0, self.rescale.cost_instance_hours)


def _grows(before: PhysicalPlan, after: PhysicalPlan) -> bool:
    return any(after.parallelism[name] > count for name, count in before.parallelism.items())


def make_schedule(
    topology: Topology,
    profiles: Profiles,
    demand: Demand,
    current: PhysicalPlan,
    *,
    made_at: datetime,
    limits: Limits,
    rescale: RescaleTerms,
    running_since: datetime | None = None,
    derived_from: Mapping[str, str] | None = None,
) -> ScalingSchedule:
    """The schedule that misses the target least and, among those, costs least, over the demand's horizon.

    Cuts the horizon into segments of at least min_dwell_s, gives each the cheapest plan for its largest demand, and
    charges instances × hours and each rescale; the best cuts are found by dynamic programming over all of them. A
    plan is in place safety_s before its load: it is deployed downtime + catch-up + safety earlier when it is larger
    than the one it replaces, and once the load has gone when it is smaller. Pure: `made_at` is the present.
    running_since: since when the current plan runs; it too is held for min_dwell_s, unless that misses the target.
    Raises PlanError or ModelError for inputs that do not fit together.
    """
    current.check(topology)
    terms = _Terms(topology, profiles, demand, limits, rescale)
    segments = _best_segments(terms, current, _earliest_change(terms, current, running_since))
    steps = _steps(terms, current, segments, made_at)
    total = _cost(terms, current, segments)
    return ScalingSchedule(
        topology=topology.name,
        made_at=made_at,
        start=demand.start,
        end=demand.end,
        quantile=demand.quantile,
        current=current,
        steps=steps,
        cost_instance_hours=sum(s.plan.instances * (s.last - s.first) * terms.slot_h for s in segments),
        why=_why(terms, steps, total),
        short_s=total.short_s,
        alternatives=_alternatives(terms, current, total),
        excuses=_excuses(terms, steps),
        derived_from=dict(derived_from or {}),
    )


def _best_segments(terms: _Terms, current: PhysicalPlan, earliest_change: int) -> list[_Segment]:
    """The cheapest way to cover all slots.

    best[j] holds, per plan that may run at the end of slots [0, j), the cheapest way to get there: what comes later
    depends on the past through that plan alone, so nothing better is lost.
    """
    slots = terms.demand.slots
    dwell = max(1, ceil(terms.rescale.min_dwell_s / terms.demand.slot_s))
    held = current.plan_id
    best: list[dict[str, tuple[_Cost, list[_Segment]]]] = [{held: (_NOTHING, [])}]
    for last in range(1, slots + 1):
        ways = {held: (terms.running(current, 0, last), [_Segment(0, last, current)])}
        for first in range(earliest_change, last):
            if last - first < dwell and last < slots:
                continue
            plan = terms.plan_over(first, last)
            running = terms.running(plan, first, last)
            for cost, before in best[first].values():
                replaced = before[-1].plan if before else current
                deployed = before[-1] if before and not before[-1].plan.same_parallelism(current) else None
                if deployed and not terms.in_order(deployed, plan, first):
                    continue
                way = cost + terms.rescaling(replaced, plan, first) + running
                if plan.plan_id not in ways or way < ways[plan.plan_id][0]:
                    ways[plan.plan_id] = (way, [*before, _Segment(first, last, plan)])
        best.append(ways)
    return _merged(min(best[-1].values(), key=lambda way: way[0].ordered())[1])


def _earliest_change(terms: _Terms, current: PhysicalPlan, running_since: datetime | None) -> int:
    """The first slot at which the running plan has dwelt long enough; at once where holding it misses the target."""
    if running_since is None:
        return 0
    free_at = running_since + timedelta(seconds=terms.rescale.min_dwell_s)
    slots = ceil((free_at - terms.demand.start).total_seconds() / terms.demand.slot_s)
    dwelling = min(max(0, slots), terms.demand.slots)
    return 0 if terms.running(current, 0, dwelling).short_s > 0 else dwelling


def _merged(segments: list[_Segment]) -> list[_Segment]:
    merged: list[_Segment] = []
    for segment in segments:
        if merged and merged[-1].plan.same_parallelism(segment.plan):
            merged[-1] = _Segment(merged[-1].first, segment.last, merged[-1].plan)
        else:
            merged.append(segment)
    return merged


def _cost(terms: _Terms, current: PhysicalPlan, segments: list[_Segment]) -> _Cost:
    total, before = _NOTHING, current
    for segment in segments:
        total = total + terms.rescaling(before, segment.plan, segment.first)
        total = total + terms.running(segment.plan, segment.first, segment.last)
        before = segment.plan
    return total


def _steps(
    terms: _Terms, current: PhysicalPlan, segments: list[_Segment], made_at: datetime
) -> tuple[ScheduledStep, ...]:
    steps: list[ScheduledStep] = []
    before = current
    for segment in segments:
        if before.same_parallelism(segment.plan):
            continue
        steps.append(_step(terms, before, segment, made_at))
        before = segment.plan
    return tuple(steps)


def _step(terms: _Terms, before: PhysicalPlan, segment: _Segment, made_at: datetime) -> ScheduledStep:
    lead = terms.lead(before, segment.plan, segment.first)
    drain_s = min(lead.drain_s, terms.rescale.max_catch_up_s)
    needed_from, needed_until = terms.demand.slot_start(segment.first), terms.demand.slot_start(segment.last)
    deploy_at = max(made_at, needed_from - timedelta(seconds=lead.lead_s))
    recovery = timedelta(seconds=terms.rescale.downtime_s + drain_s)
    load = terms.demand.peak_per_s(segment.first, segment.last)
    estimate = evaluate(terms.topology, terms.profiles, segment.plan, load)
    demanded = ", ".join(f"{rate:.3g}/s at {source}" for source, rate in load.items())
    quantile = f"p{terms.demand.quantile * 100:g}"
    return ScheduledStep(
        deploy_at=deploy_at,
        in_place_at=deploy_at + recovery,
        needed_from=needed_from,
        needed_until=needed_until,
        plan=segment.plan,
        replaces=before,
        load_per_s=load,
        bottleneck=str(estimate.bottleneck),
        utilisation=estimate.utilisation,
        saturation_scale=estimate.saturation_scale,
        downtime_s=terms.rescale.downtime_s,
        catch_up_s=drain_s,
        cost_instance_hours=segment.plan.instances * (segment.last - segment.first) * terms.slot_h,
        why=f"{quantile} of the peak is {demanded} from {needed_from:%a %H:%M} to {needed_until:%a %H:%M}",
    )


def _why(terms: _Terms, steps: tuple[ScheduledStep, ...], total: _Cost) -> str:
    short = f"; {total.short_s / 60:.0f} min cannot be carried within the limits" if total.short_s >= 1 else ""
    if not steps and short:
        return f"no plan within the limits does better than the running one: hold it{short}"
    if not steps:
        return "the running plan carries the forecast, and no change is worth its rescale: hold it"
    return f"{len(steps)} rescales follow the forecast over {terms.demand.slots * terms.slot_h:.3g} h{short}"


def _alternatives(terms: _Terms, current: PhysicalPlan, chosen: _Cost) -> tuple[Alternative, ...]:
    """What else was costed over the same demand: holding the plan, and a static plan for the peak."""
    slots = terms.demand.slots
    static = terms.plan_over(0, slots)
    found = []
    for name, plan in (("hold the running plan", current), ("static plan for the peak", static)):
        segments = [_Segment(0, slots, plan)]
        cost = _cost(terms, current, segments)
        hours = plan.instances * slots * terms.slot_h
        if cost.short_s > chosen.short_s + 1e-3:
            excuse = f"misses the target for {cost.short_s / 60:.0f} min ({plan.brief()})"
        elif chosen < cost:
            excuse = f"costs {cost.instance_hours - chosen.instance_hours:.3g} instance-hours more ({plan.brief()})"
        else:
            excuse = f"as good as what was chosen ({plan.brief()})"
        rescales = 0 if plan.same_parallelism(current) else 1
        found.append(Alternative(name, hours, rescales, cost.short_s, excuse))
    return tuple(found)


def _excuses(terms: _Terms, steps: tuple[ScheduledStep, ...]) -> tuple[Excuse, ...]:
    """Per distinct plan: why not one instance fewer; and where a load is beyond all plans, why."""
    excuses: dict[tuple[str, str], Excuse] = {}
    for step in steps:
        found = cheapest_plan(terms.topology, terms.profiles, step.load_per_s, terms.limits)
        if isinstance(found, Excuse):
            excuses[found.plan_id, found.operator] = found
            continue
        for excuse in one_fewer(terms.topology, terms.profiles, step.plan, step.load_per_s, terms.limits):
            excuses[excuse.plan_id, excuse.operator] = excuse
    return tuple(excuses.values())
