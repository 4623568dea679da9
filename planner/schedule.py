"""make_schedule(): which plan from when. Dynamic programming over where to rescale; exact for its objective."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import ceil

from modeling.evaluate import evaluate
from modeling.excuse import Excuse
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.rescale_ways import Change, Cost, Terms, Way, best_way
from planner.scaling_schedule import Alternative, ScalingSchedule, ScheduledStep
from planner.search.cheapest_plan import cheapest_plan, missed, one_fewer
from planner.search.remembered_plans import RememberedPlans


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
    cheapest: RememberedPlans | None = None,
) -> ScalingSchedule:
    """The schedule that misses the target least and, among those, costs least, over the demand's horizon.

    Cuts the horizon into segments of at least min_dwell_s, gives each the cheapest plan for its largest demand, and
    charges instances × hours and each rescale; the best cuts are found by dynamic programming over all of them. A
    plan is in place safety_s before its load: it is deployed downtime + catch-up + safety earlier when it is larger
    than the one it replaces, and once the load has gone when it is smaller. Pure: `made_at` is the present.
    running_since: since when the current plan runs; it too is held for min_dwell_s, unless that misses the target.
    cheapest: of the same topology, profiles, limits and arrivals, where several schedules share what they found.
    Raises PlanError or ModelError for inputs that do not fit together.
    """
    current.check(topology)
    cheapest = cheapest or RememberedPlans(topology, profiles, limits, demand.arrival_cv2)
    terms = Terms(topology, profiles, demand, current, limits, rescale, made_at, cheapest)
    earliest = _earliest_change(terms, running_since)
    best = best_way(terms, earliest)
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


def _earliest_change(terms: Terms, running_since: datetime | None) -> int:
    """The first slot at which the running plan has dwelt long enough; at once where holding it misses the target."""
    if running_since is None:
        return 0
    free_at = running_since + timedelta(seconds=terms.rescale.min_dwell_s)
    slots = ceil((free_at - terms.demand.start).total_seconds() / terms.demand.slot_s)
    dwelling = min(max(0, slots), terms.demand.slots)
    return 0 if terms.running(0, 0, dwelling).short_s > 0 else dwelling


def _step(terms: Terms, before: PhysicalPlan, change: Change, last: int) -> ScheduledStep:
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


def _why(terms: Terms, way: Way) -> str:
    short = f"; {way.cost.short_s / 60:.0f} min cannot be carried within the limits" if way.cost.short_s >= 1 else ""
    if way.changes:
        rescales = "1 rescale follows" if len(way.changes) == 1 else f"{len(way.changes)} rescales follow"
        return f"{rescales} the forecast over {terms.demand.slots * terms.slot_h:.3g} h{short}"
    if short:
        return f"no change within the limits does better than the running plan: hold it{short}"
    return "the running plan carries the forecast, and no change is worth its rescale: hold it"


def _alternative(terms: Terms, name: str, way: Way, chosen: Cost) -> Alternative:
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


def _excuses(terms: Terms, steps: tuple[ScheduledStep, ...]) -> tuple[Excuse, ...]:
    """Per distinct plan: why not one instance fewer; and where a load is beyond all plans, why."""
    excuses: dict[tuple[str, str], Excuse] = {}
    model = terms.topology, terms.profiles
    for step in steps:
        found = cheapest_plan(*model, step.load_per_s, terms.limits, terms.cv2)
        beyond = [found] if isinstance(found, Excuse) else []
        why = beyond or one_fewer(*model, step.plan, step.load_per_s, terms.limits, terms.cv2)
        excuses |= {(each.plan_id, each.operator): each for each in why}
    return tuple(excuses.values())
