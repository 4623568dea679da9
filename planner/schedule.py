"""make_schedule(): which plan from when. Dynamic programming over where to rescale; exact for its objective."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from math import ceil, inf, isfinite

import numpy as np
import numpy.typing as npt

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.excuse import Excuse
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.least_parallelism import ROUNDING
from modeling.rescaling.recovery import catch_up_s
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.scaling_schedule import Alternative, ScalingSchedule, ScheduledStep
from planner.search.cheapest_plan import cheapest_plan, missed, one_fewer, strongest_plan


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
        hours = self.instance_hours + other.instance_hours
        return _Cost(self.short_s + other.short_s, self.excess_s + other.excess_s, hours)

    @property
    def ordered(self) -> tuple[float, float, float]:
        return round(self.short_s, 3), round(self.excess_s, 3), round(self.instance_hours, 6)


@dataclass(frozen=True)
class _Slots:
    """One plan in every slot: utilisation, whether it misses the target, and how long a downtime's backlog drains."""

    used: npt.NDArray[np.float64]
    missed: npt.NDArray[np.bool_]
    drain_s: list[float]


@dataclass(frozen=True)
class _Change:
    """A plan, by its number, that takes another's place: needed from slot `first` on. Seconds count from the demand's
    start; drain_s is catch-up after the downtime.
    """

    plan: int
    first: int
    deploy_s: float
    in_place_s: float
    drain_s: float
    cost: _Cost


@dataclass(frozen=True)
class _Way:
    """Changes that cover the slots so far; plan: the one that runs then. free_s: the next is deployed after that."""

    plan: int
    cost: _Cost
    changes: tuple[_Change, ...] = ()
    free_s: float = -inf


@dataclass(eq=False)
class _Terms:
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

    def __post_init__(self) -> None:
        self.slot_h, self.cv2 = self.demand.slot_s / 3600, self.demand.arrival_cv2
        self.plans = [replace(self.current, packing=())]
        self.plan_for, self.over_slots = cache(self._plan_for), cache(self._over_slots)
        self.running, self.change = cache(self._running), cache(self._change)

    def _plan_for(self, peak: tuple[tuple[str, float], ...]) -> int:
        plan = strongest_plan(self.topology, self.profiles, dict(peak), self.limits, self.cv2)[0]
        for number, known in enumerate(self.plans):
            if plan.same_parallelism(known):
                return number
        self.plans.append(plan)
        return len(self.plans) - 1

    def plan_over(self, first: int, last: int) -> int:
        """The cheapest plan for all slots of [first, last)."""
        return self.plan_for(tuple(self.demand.peak_per_s(first, last).items()))

    def _running(self, plan: int, first: int, last: int) -> _Cost:
        over, slot_s = self.over_slots(plan), float(self.demand.slot_s)
        beyond = over.used[first:last] / self.limits.max_utilisation
        return _Cost(
            slot_s * int(np.count_nonzero(over.missed[first:last])),
            slot_s * float((beyond[beyond > ROUNDING] - 1).sum()),
            self.plans[plan].instances * (last - first) * self.slot_h,
        )

    def _over_slots(self, number: int) -> _Slots:
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
        return _Slots(used, short, drain_s)

    def _change(self, before: int, plan: int, first: int) -> _Change:
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
        return _Change(plan, first, deploy_s, in_place_s, drain_s, _Cost(short_s, 0.0, terms.cost_instance_hours))

    def followed(self, way: _Way, plan: int, first: int, last: int) -> _Way | None:
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
        return _Way(plan, cost + change.cost, (*way.changes, change), free_s)

    def held(self, last: int) -> _Way:
        """The running plan over the slots [0, last)."""
        return _Way(0, self.running(0, 0, last))

    def hours(self, way: _Way) -> float:
        return way.cost.instance_hours - self.rescale.cost_instance_hours * len(way.changes)


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
    terms = _Terms(topology, profiles, demand, current, limits, rescale, made_at)
    earliest = _earliest_change(terms, running_since)
    best = _best_way(terms, earliest)
    ends = [*(change.first for change in best.changes), demand.slots][1:]
    befores = [current, *(terms.plans[change.plan] for change in best.changes)]
    steps = tuple(_step(terms, *each) for each in zip(befores, best.changes, ends, strict=False))
    others = {"hold the running plan": terms.held(demand.slots)}
    if earliest < demand.slots:
        peak = terms.plan_over(earliest, demand.slots)
        static = terms.followed(terms.held(earliest), peak, earliest, demand.slots)
        others |= {"static plan for the peak": static} if static else {}
    return ScalingSchedule(
        topology=topology.name,
        made_at=made_at,
        start=demand.start,
        end=demand.end,
        quantile=demand.quantile,
        current=current,
        steps=steps,
        cost_instance_hours=terms.hours(best),
        why=_why(terms, best),
        short_s=best.cost.short_s,
        alternatives=tuple(_alternative(terms, name, way, best.cost) for name, way in others.items()),
        excuses=_excuses(terms, steps),
        derived_from=dict(derived_from or {}),
    )


def _best_way(terms: _Terms, earliest_change: int) -> _Way:
    """The cheapest way to cover all slots.

    best[j] holds, per plan that may run at the end of slots [0, j), the cheapest way to get there, and dearer ones that
    are ready for another change earlier: what comes later depends on the past through these two alone.
    """
    slots = terms.demand.slots
    dwell = max(1, ceil(terms.rescale.min_dwell_s / terms.demand.slot_s))
    best = [[terms.held(0)]]
    for last in range(1, slots + 1):
        ways = [terms.held(last)]
        for first in range(earliest_change, last):
            if last - first >= dwell or last == slots:
                plan = terms.plan_over(first, last)
                ways += [way for before in best[first] if (way := terms.followed(before, plan, first, last))]
        kept: dict[int, list[_Way]] = {}
        for way in sorted(ways, key=lambda way: (way.cost.ordered, way.free_s)):
            alike = kept.setdefault(way.plan, [])
            if not alike or way.free_s < alike[-1].free_s:
                alike.append(way)
        best.append([way for alike in kept.values() for way in alike])
    return min(best[-1], key=lambda way: way.cost.ordered)


def _earliest_change(terms: _Terms, running_since: datetime | None) -> int:
    """The first slot at which the running plan has dwelt long enough; at once where holding it misses the target."""
    if running_since is None:
        return 0
    free_at = running_since + timedelta(seconds=terms.rescale.min_dwell_s)
    slots = ceil((free_at - terms.demand.start).total_seconds() / terms.demand.slot_s)
    dwelling = min(max(0, slots), terms.demand.slots)
    return 0 if terms.running(0, 0, dwelling).short_s > 0 else dwelling


def _step(terms: _Terms, before: PhysicalPlan, change: _Change, last: int) -> ScheduledStep:
    plan, demand = terms.plans[change.plan], terms.demand
    needed_from, needed_until = demand.slot_start(change.first), demand.slot_start(last)
    load = demand.peak_per_s(change.first, last)
    demanded = ", ".join(f"{rate:.3g}/s at {source}" for source, rate in load.items())
    estimate = evaluate(terms.topology, terms.profiles, plan, load, arrival_cv2=terms.cv2)
    if missed(estimate, terms.limits):
        # Parts of the span were planned for one by one: peaks of several sources need not come together.
        busiest = change.first + int(terms.over_slots(change.plan).used[change.first : last].argmax())
        load = demand.peak_per_s(busiest, busiest + 1)
        estimate = evaluate(terms.topology, terms.profiles, plan, load, arrival_cv2=terms.cv2)
    return ScheduledStep(
        deploy_at=demand.start + timedelta(seconds=change.deploy_s),
        in_place_at=demand.start + timedelta(seconds=change.in_place_s),
        needed_from=needed_from,
        needed_until=needed_until,
        plan=plan,
        replaces=before,
        load_per_s=load,
        bottleneck=str(estimate.bottleneck),
        utilisation=estimate.utilisation,
        saturation_scale=estimate.saturation_scale,
        downtime_s=terms.rescale.downtime_s,
        catch_up_s=min(change.drain_s, terms.rescale.max_catch_up_s),
        cost_instance_hours=plan.instances * (last - change.first) * terms.slot_h,
        why=f"p{demand.quantile * 100:g} of the peak is {demanded} from {needed_from:%a %H:%M} to "
        f"{needed_until:%a %H:%M}",
    )


def _why(terms: _Terms, way: _Way) -> str:
    short = f"; {way.cost.short_s / 60:.0f} min cannot be carried within the limits" if way.cost.short_s >= 1 else ""
    if way.changes:
        rescales = "1 rescale follows" if len(way.changes) == 1 else f"{len(way.changes)} rescales follow"
        return f"{rescales} the forecast over {terms.demand.slots * terms.slot_h:.3g} h{short}"
    if short:
        return f"no change within the limits does better than the running plan: hold it{short}"
    return "the running plan carries the forecast, and no change is worth its rescale: hold it"


def _alternative(terms: _Terms, name: str, way: _Way, chosen: _Cost) -> Alternative:
    """What else was costed over the same demand. It is never better: the search has tried it too."""
    if way.cost.short_s > chosen.short_s + 1e-3:
        excuse = f"misses the target for {way.cost.short_s / 60:.0f} min"
    elif way.cost.ordered == chosen.ordered:
        excuse = "as good as what was chosen"
    elif way.cost.ordered[:2] > chosen.ordered[:2]:
        excuse = "misses the target as long, and by more"
    else:
        excuse = f"costs {way.cost.instance_hours - chosen.instance_hours:.3g} instance-hours more"
    brief = terms.plans[way.plan].brief()
    return Alternative(name, terms.hours(way), len(way.changes), way.cost.short_s, f"{excuse} ({brief})")


def _excuses(terms: _Terms, steps: tuple[ScheduledStep, ...]) -> tuple[Excuse, ...]:
    """Per distinct plan: why not one instance fewer; and where a load is beyond all plans, why."""
    excuses: dict[tuple[str, str], Excuse] = {}
    model = terms.topology, terms.profiles
    for step in steps:
        found = cheapest_plan(*model, step.load_per_s, terms.limits, terms.cv2)
        beyond = [found] if isinstance(found, Excuse) else []
        why = beyond or one_fewer(*model, step.plan, step.load_per_s, terms.limits, terms.cv2)
        excuses |= {(each.plan_id, each.operator): each for each in why}
    return tuple(excuses.values())
