"""A schedule in words: why it is what it is, why each step, and why not another schedule. All from its numbers."""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import inf

from forescale.report.kit.decision_words import causes_words, edit_words, effect
from forescale.report.kit.wording import instance_hours
from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.wording import count_of, rounded
from planner.decision_basis import BoundedSpan, Rung
from planner.edit_facts import brief
from planner.fleet.shortage import QUOTA
from planner.horizon.budget import MAX_H
from planner.horizon.spans import passed_spans
from planner.ledger.schedule_rows import ScheduleWords
from planner.near_rescale import KeptBy, NearRescale
from planner.provenance import Quantity
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule, ScheduledStep
from planner.schedule import HEADROOM, NEARLY_H, NEARLY_MINUTES, VIOLATION, WINDOWS

NEARLY_NEVER = 0.01
_LATENCIES = ("max_latency_s", "max_p95_latency_s")
_LAG_ALONE = "its minutes are those of too much lag, whatever the latency"


def schedule_words(schedule: ScalingSchedule) -> str:
    """Why the schedule is what it is. Of a schedule of an earlier release, what that recorded."""
    if schedule.recorded:
        return schedule.recorded
    lacking = short_words(schedule)
    return "; ".join((_outcome(schedule), *([lacking] if lacking else []), *map(near_words, schedule.crowded)))


def late_at_a_price(schedule: ScalingSchedule) -> bool:
    """Whether a schedule whose minutes have a price, and no budget, is late for more than NEARLY_NEVER of them."""
    minutes = (schedule.end - schedule.start).total_seconds() / 60
    return schedule.allowed_minutes is None and schedule.violation_minutes > NEARLY_NEVER * minutes


def short_words(schedule: ScalingSchedule) -> str:
    """What a quota did not grant, and which topologies have it; empty if all was granted."""
    return "; ".join(each.reason for each in schedule.excuses if each.target == QUOTA)


def _outcome(schedule: ScalingSchedule) -> str:
    rung, edit = schedule.basis.rung, schedule.basis.edit
    if edit is not None:
        shown = f"; {effect(edit.before, edit.after)}" if edit.before is not None and edit.after is not None else ""
        return f"{_edited(schedule)}{shown}"
    if not rung.plans:
        who = "only the guard acts" if rung is Rung.GUARD else "nobody acts"
        return f"no basis for a plan: the running plan is held and {who}: {causes_words(schedule.basis)}"
    count, span_h = len(schedule.steps), (schedule.end - schedule.start).total_seconds() / 3600
    if count:
        verb = "follows" if count == 1 else "follow"
        outcome = f"{count_of(count, 'rescale')} {verb} the forecast over {span_h:.3g} h"
    elif schedule.within_budget and not late_at_a_price(schedule):
        outcome = "the running plan carries the forecast, and no change is worth its rescale: hold it"
    else:
        outcome = "no change within the limits does better than the running plan: hold it"
    late, allowed = f"{rounded(schedule.violation_minutes, 2)} min in violation are expected", schedule.allowed_minutes
    if allowed is None:
        return f"{outcome}; {late}, at a price of {rounded(schedule.violation_price_h)} instance-hours each"
    if schedule.within_budget:
        return f"{outcome}; {late}, {rounded(allowed, 2)} are allowed"
    broken = f"the budget is not kept: {late}, {rounded(allowed, 2)} are allowed"
    if schedule.violation_minutes <= schedule.own_minutes:
        debt = f"the week before used more than its share, and a minute less costs over {MAX_H:g} instance-hours"
        return f"{broken}; {debt}; {outcome}"
    return f"{broken}: no plan within the limits keeps that; {outcome}"


def _edited(schedule: ScalingSchedule) -> str:
    edit = schedule.basis.edit
    if edit is None or not 0 < edit.step <= len(schedule.steps):
        return ""
    step = schedule.steps[edit.step - 1]
    return edit_words(edit, step.plan.brief(), step.deploy_at)


def step_words(schedule: ScalingSchedule, index: int) -> str:
    """Why a step is in the schedule: its load, what the job carries with and without it, and what it saves."""
    step, edit = schedule.steps[index], schedule.basis.edit
    if step.recorded:
        return step.recorded
    edited = [_edited(schedule)] if edit is not None and edit.step == index + 1 else []
    moved = step.moved
    apart = (
        [] if moved is None else [f"asked for {moved.earlier_s:.0f} s earlier than needed, apart from {moved.other}"]
    )
    return "; ".join((*edited, *_for_its_load(schedule, step), *apart))


def _for_its_load(schedule: ScalingSchedule, step: ScheduledStep) -> Iterator[str]:
    load = ", ".join(f"{rounded(rate)}/s at {source}" for source, rate in step.load_per_s.items())
    yield (
        f"p{schedule.quantile * 100:g} of the peak is {load} from {step.stops_at:%a %H:%M} to "
        f"{step.needed_until:%a %H:%M} UTC"
    )
    if step.capacity_per_s is not None and step.capacity_before_per_s is not None:
        yield (
            f"with {count_of(step.plan.instances, 'instance')} the job carries {rounded(step.capacity_per_s)}/s, with "
            f"{step.replaces.instances} {rounded(step.capacity_before_per_s)}/s"
        )
    for span in wanted_spans(schedule, step):
        since, until = (datetime.fromtimestamp(at_s, UTC) for at_s in (span.start_s, span.end_s))
        yield f"planning.windows wants {bound_words(span)} from {since:%a %H:%M} to {until:%a %H:%M} UTC"
    without, late = step.violation_minutes_without, schedule.violation_minutes
    if without > late + NEARLY_MINUTES:
        yield f"without this step {rounded(without)} min in violation are expected, with it {rounded(late, 2)}"
    elif step.saved_h > NEARLY_H:
        yield f"it saves {_amount(schedule, step.saved_h)}"
    elif step.relieves:
        yield f"without this step the job would be {busy_words(step)}"


def wanted_spans(schedule: ScalingSchedule, step: ScheduledStep) -> list[BoundedSpan]:
    """Spans of planning.windows that the step keeps, and the plan before it would break."""
    span_s = step.runs_from.timestamp(), step.needed_until.timestamp()

    def breaks(plan: PhysicalPlan, span: BoundedSpan) -> bool:
        return bool(passed_spans(plan.parallelism, *span_s, [span]))

    return [each for each in schedule.basis.bounded if breaks(step.replaces, each) and not breaks(step.plan, each)]


def bound_words(span: BoundedSpan) -> str:
    told = [f"at least {count_of(count, 'instance')} of {name}" for name, count in span.least.items()]
    return ", ".join(
        (*told, *(f"at most {count_of(count, 'instance')} of {name}" for name, count in span.most.items()))
    )


def busy_words(step: ScheduledStep) -> str:
    """How busy the plan before would be, of a step that relieves it."""
    before, most = (100 * (share or 0.0) for share in (step.busy_before, step.busy_most))
    return f"{before:.3g}% busy, and at most {most:.3g}% is aimed for"


def _amount(schedule: ScalingSchedule, weighed_h: float) -> str:
    """Weighed instance-hours: a price if there is one."""
    if schedule.instance_price_per_hour is None:
        return f"{rounded(weighed_h)} instance-hours"
    return f"a price of {rounded(weighed_h * schedule.instance_price_per_hour)}"


def alternative_name(other: Alternative) -> str:
    """A costed alternative as a person calls it."""
    match other.kind:
        case AlternativeKind.HOLD:
            return "keeping today's plan"
        case AlternativeKind.REACTIVE:
            return "a reactive scaler"
        case AlternativeKind.ACTING_GUARD:
            return "a guard that acts"
        case AlternativeKind.STATIC:
            return "a fixed plan sized for the peak"
        case AlternativeKind.CANDIDATE:
            return f"candidate {other.name}"
        case AlternativeKind.OTHER:
            return other.name


def alternative_words(schedule: ScalingSchedule, other: Alternative) -> str:
    """Why an alternative was not chosen, or from when its plan was."""
    if other.sample_paths:
        simulated = f"simulated on {count_of(other.sample_paths, 'path')} of the forecast"
        return f"{simulated}; {_LAG_ALONE}" if _bounds_latency(schedule) else simulated
    if other.kind is AlternativeKind.ACTING_GUARD:
        return _advising_words(schedule, other)
    if other.more_h is None or other.more_cost_h is None:
        return other.recorded
    more_minutes = other.violation_minutes - schedule.violation_minutes
    more, verb = f"{rounded(more_minutes)} min more in violation are expected", "means"
    if not other.allowed:
        verb, excuse = "is", "not within the limits of changes (freeze, max_step, scale_out_only, packing)"
    elif more_minutes > NEARLY_MINUTES and other.more_h > NEARLY_H:
        excuse = f"{more}, for {_amount(schedule, other.more_h)} more"
    elif more_minutes > NEARLY_MINUTES:
        excuse = more
    elif other.more_h > NEARLY_H:
        verb, excuse = "costs", f"{_amount(schedule, other.more_h)} more"
    elif other.more_cost_h > NEARLY_H:
        verb, excuse = "costs", f"{_amount(schedule, other.more_cost_h)} more with its rescales and violations"
    else:
        verb, excuse = "is", "as good as what was chosen"
    if other.chosen_from:
        moments = " and ".join(f"{moment:%a %H:%M}" for moment in other.chosen_from)
        return f"is chosen from {moments} UTC on; all the time it {verb} {excuse} ({brief(other.parallelism)})"
    rescued = rescued_words(schedule, other)
    # A bare number would be of what stands before it: a price, or minutes.
    named = schedule.instance_price_per_hour is None and other.more_h > NEARLY_H
    unit = "" if named else " instance-hours"
    added = f": {instance_hours(other.cost_instance_hours)}{unit} in all, {rescued}" if rescued else ""
    return f"{excuse if verb == 'means' else f'{verb} {excuse}'}{added} ({brief(other.parallelism)})"


def rescued_words(schedule: ScalingSchedule, other: Alternative) -> str:
    """What part of today's plan's cost is instances that are added once it falls behind; empty if there are none."""
    if other.kind is not AlternativeKind.HOLD:
        return ""
    held_h = schedule.current.instances * (schedule.end - schedule.start).total_seconds() / 3600
    added_h = other.cost_instance_hours - held_h
    return f"{instance_hours(added_h)} of them once it falls behind" if added_h > 0.01 * held_h else ""


def _bounds_latency(schedule: ScalingSchedule) -> bool:
    limits = [each.of for each in schedule.basis.stands_on if each.quantity is Quantity.LIMITS]
    return any(name in _LATENCIES for of in limits for name in of)


def _advising_words(schedule: ScalingSchedule, other: Alternative) -> str:
    """What it costs that the guard only advises."""
    own_h, other_h = schedule.cost_instance_hours, other.cost_instance_hours
    if schedule.price is not None and other.price is not None and schedule.instance_price_per_hour:
        own_h, other_h = (price / schedule.instance_price_per_hour for price in (schedule.price, other.price))
    saved_h = own_h - other_h
    if saved_h <= NEARLY_H or not other_h:
        return "it would save nothing (planning.guard.mode is advise)"
    return (
        f"advising costs {_amount(schedule, saved_h)} more, {saved_h / other_h:.0%}: spikes are planned for instead of "
        "left to the guard (planning.guard.mode: act)"
    )


def impossible(schedule: ScalingSchedule) -> list[Excuse]:
    """What no plan within the limits does, the farthest beyond its bound first, at the load that is farthest; not why a
    plan is not smaller.
    """
    beyond = [each for each in schedule.excuses if each.target not in (VIOLATION, HEADROOM, WINDOWS)]
    farthest = dict[tuple[str, str, float], Excuse]()
    for each in sorted(beyond, key=lambda each: each.bound / each.value if each.value else inf):
        farthest.setdefault((each.target, each.operator, each.bound), each)
    return list(farthest.values())


def near_words(near: NearRescale) -> str:
    """A large rescale close to one of another topology, and what became of it."""
    what = (
        f"{near.topology} starts {count_of(near.started, 'instance')} at {near.at:%a %H:%M:%S}, {near.apart_s:.0f} s "
        f"from {near.other_started} of {near.other}"
    )
    return f"{what}: {_kept(near)}"


def _kept(near: NearRescale) -> str:
    match near.kept_by:
        case None:
            return f"asked for {near.earlier_s:.0f} s earlier"
        case KeptBy.NOW:
            return "it cannot be asked for earlier than now"
        case KeptBy.DWELL:
            return f"the step before it, of {near.since:%a %H:%M}, has not run for planning.min_dwell_s by then"
        case KeptBy.FREEZE:
            return f"earlier it would be within planning.freeze, from {near.since:%a %H:%M} to {near.until:%a %H:%M}"
        case KeptBy.QUOTA:
            return f"earlier it would pass {near.quota} of {count_of(near.quota_instances, 'instance')}"


def ledger_words(schedule: ScalingSchedule) -> ScheduleWords:
    """What the tables of the ledger say of a schedule and of each of its steps."""
    return ScheduleWords(
        schedule_words(schedule), tuple(step_words(schedule, index) for index in range(len(schedule.steps)))
    )
