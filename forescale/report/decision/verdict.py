"""What a reviewer reads first: what will change, what it costs and risks, what is asked and until when."""

from datetime import datetime
from math import isnan

from forescale.report.decision.proposal import NEGLIGIBLE, Proposal
from forescale.report.kit.decision_words import RUNGS, basis_summary, past_late
from forescale.report.kit.local_time import UTC_TIME, LocalTime
from forescale.report.kit.schedule_words import (
    alternative_name,
    bound_words,
    busy_words,
    impossible,
    late_at_a_price,
    rescued_words,
    schedule_words,
    step_words,
    wanted_spans,
)
from forescale.report.kit.stands_on import placeholder_warning
from forescale.report.kit.table import Sentence
from forescale.report.kit.wording import (
    NBSP,
    duration,
    instance_hours,
    minutes,
    number,
    parallelism_change,
    percent,
    quantile_name,
    rate,
    sentence,
    shortened,
)
from modeling.wording import count_of
from planner.decision_basis import Rung
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule, ScheduledStep

FLOOR_MODE = "Each plan is a lower bound (planning.mode): a scaler or a person decides above it"
AT_ONCE_S = 60.0
"""A step due this soon after the decision is due at once."""
MAX_BASIS = 120
"""Letters about what a decision was planned by that the form of a review shows."""


def headline(proposal: Proposal) -> str:
    """One sentence: what will change, and what it is planned by if not by a forecast."""
    rung = proposal.schedule.basis.rung
    return _change(proposal) if rung is Rung.FORECAST else f"{_change(proposal)} ({RUNGS[rung]})"


def _change(proposal: Proposal) -> str:
    schedule = proposal.schedule
    running, would = count_of(schedule.current.instances, "instance"), proposal.in_shadow
    if not schedule.steps:
        hold = "Would hold" if would else "Hold"
        return f"{hold} {schedule.topology} at its {running} until {_unbroken(proposal, schedule.end)}"
    way = sizes(schedule)
    times = "once" if len(schedule.steps) == 1 else f"{len(schedule.steps)} times"
    last = _unbroken(proposal, schedule.steps[-1].deploy_at)
    if schedule.basis.floor:
        return f"Move the floor of {schedule.topology} {times} by {last}: {way} at least"
    return f"{'Would rescale' if would else 'Rescale'} {schedule.topology} {times} by {last}: {way}"


def _unbroken(proposal: Proposal, at: datetime) -> str:
    """A moment that no line of a headline ends within."""
    return proposal.local.moment(at).replace(" ", NBSP)


def warnings(proposal: Proposal) -> tuple[str, ...]:
    """What stands before everything else: a broken budget and what keeps it, steps that are past their time, bounds
    that a held plan breaks, a silent feed, service times that nobody has measured.
    """
    stand_ins = placeholder_warning(proposal.schedule.basis.stands_on, proposal.schedule.topology)
    told = (
        _broken_budget(proposal),
        _too_late(proposal),
        _bounds(proposal, unkept=True),
        _silent_feed(proposal),
        stand_ins,
    )
    return tuple(filter(None, told))


def _bounds(proposal: Proposal, *, unkept: bool = False) -> str:
    """Words of planning.windows; few schedules need them."""
    if not proposal.schedule.basis.bounded:
        return ""
    from forescale.report.decision.bound_words import bounds, unkept_bounds

    return unkept_bounds(proposal) if unkept else bounds(proposal)


def _silent_feed(proposal: Proposal) -> str:
    silent = {each.source: each.silent_s for each in proposal.schedule.basis.arrivals if each.silent_s is not None}
    if not silent:
        return ""
    return (
        f"Nothing was observed of {', '.join(silent)} in the last {duration(max(silent.values()))} that the forecast "
        "knows; it takes the load to have gone on as usual. Check the feed."
    )


def _broken_budget(proposal: Proposal) -> str:
    schedule, allowed = proposal.schedule, proposal.schedule.allowed_minutes
    if not proposal.schedule.basis.rung.plans or allowed is None or not proposal.breaks_budget:
        return ""
    plan = "This schedule" if schedule.steps else "Keeping today's plan"
    broken = (
        f"{plan} breaks its budget by its own estimate: {late(schedule.violation_minutes)} expected over "
        f"{_span(schedule)}, {minutes(allowed)} allowed."
    )
    if not proposal.keeping:
        beyond = [f": {excuse}" for excuse in impossible(schedule)[:1]]
        return f"{broken} No other plan that was costed keeps it{''.join(beyond)}."
    first, *others = proposal.keeping
    held = next((each for each in others if each.kind is AlternativeKind.HOLD), None)
    offers = [_offer(proposal, each) for each in (first, held) if each is not None]
    return " ".join((broken, *offers))


def _offer(proposal: Proposal, keeping: Alternative) -> str:
    name = alternative_name(keeping)
    hours = f"{instance_hours(keeping.cost_instance_hours)} instance-hours"
    more = cost_difference(keeping, proposal.schedule)
    how = " Veto this schedule to keep today's plan." if keeping.kind is AlternativeKind.HOLD and proposal.asks else ""
    return f"{name[0].upper()}{name[1:]} keeps it, for {hours} ({more}).{how}"


def _too_late(proposal: Proposal) -> str:
    waiting = proposal.waiting
    if not proposal.asks or not proposal.schedule.is_too_late_for_review(first := proposal.schedule.steps[waiting[0]]):
        return ""
    return too_late(proposal.schedule, first, proposal.local)


def too_late(schedule: ScalingSchedule, first: ScheduledStep, local: LocalTime = UTC_TIME) -> str:
    """Why the first step that needs approval is due before a review can be over, and what happens then."""
    return (
        f"It is too late for a review of {duration(schedule.review_s)} (planning.review_s): the load comes sooner. "
        f"Without an answer {count_of(first.replaces.instances, 'instance')} "
        f"{'runs' if first.replaces.instances == 1 else 'run'} on; a late approval deploys the step at once, until "
        f"{local.moment(first.needed_until)} {local.name}."
    )


def sentences(proposal: Proposal) -> tuple[Sentence, ...]:
    """What is asked, first; then what it costs, what it risks."""
    why = _why(proposal)
    return (
        Sentence("Asked of you", asked(proposal)),
        *([Sentence("Why", sentence(why))] if why else []),
        Sentence("Cost", cost(proposal)),
        Sentence("Risk", risk(proposal)),
        *([Sentence("Planned by", sentence(told))] if (told := basis_summary(proposal.schedule.basis)) else []),
        *([Sentence("Bounds", told)] if (told := _bounds(proposal)) else []),
        *([Sentence("Mode", _mode())] if proposal.schedule.basis.floor else []),
    )


def brief_sentences(proposal: Proposal) -> tuple[Sentence, ...]:
    """The same for the form of a review, whose buttons stand below: each in about a line, without what explains it."""
    short = {
        "Cost": cost(proposal),
        "Risk": risk(proposal, brief=True),
        "Planned by": shortened(basis_summary(proposal.schedule.basis), MAX_BASIS),
    }
    return tuple(Sentence(label, sentence(short.get(label, text))) for label, text in sentences(proposal))


def _why(proposal: Proposal) -> str:
    """Who edited it and why, or why today's plan stays; empty for steps, which have their reasons."""
    schedule = proposal.schedule
    if schedule.basis.edit is not None or not schedule.basis.rung.plans:
        return schedule_words(schedule)
    if schedule.steps:
        return ""
    if proposal.breaks_budget or late_at_a_price(schedule):
        return "No plan within the limits does better than today's."
    return "Today's plan keeps the budget, and no change is worth its rescale."


def step_reason(proposal: Proposal, index: int) -> str:
    """What a step is for, in local time; of an edited step, who changed it and why."""
    schedule, local = proposal.schedule, proposal.local
    step, edit = schedule.steps[index], schedule.basis.edit
    if edit is not None and edit.step in (0, index + 1):
        return step_words(schedule, index)
    load = ", ".join(f"{rate(per_s)} at {source}" for source, per_s in step.load_per_s.items())
    span = local.span(step.needed_from, step.needed_until, brief=True)
    told = f"Up to {load} ({quantile_name(schedule.quantile)}), {span}"
    if wanted := wanted_spans(schedule, step):
        told = f"{told}; planning.windows wants {'; '.join(map(bound_words, wanted))}"
    without = step.violation_minutes_without
    if without >= schedule.violation_minutes + 0.5:
        return f"{told}. Without this step: {late(without)} in all, instead of {late(schedule.violation_minutes)}."
    fewer = step.replaces.instances - step.plan.instances
    if fewer > 0 and step.utilisation <= 1:
        return f"{told}: {count_of(fewer, 'instance')} fewer will do."
    if step.relieves:
        return f"{told}. Without this step the job would be {busy_words(step)}."
    return f"{told}."


def sizes(schedule: ScalingSchedule) -> str:
    """Instances from plan to plan, `16 → 8 → 18 instances`; of many steps the range."""
    counts = [schedule.current.instances, *(step.plan.instances for step in schedule.steps)]
    way = " → ".join(map(str, counts)) if len(counts) <= 8 else f"{min(counts)} to {max(counts)}"
    return f"{way} instances"


def _mode() -> str:
    return f"{FLOOR_MODE}. Cost and risk are as if nobody else scaled: more above the floor costs more and misses less."


def cost(proposal: Proposal) -> str:
    """Instance-hours of the horizon and their price, against today's plan and a reactive scaler."""
    schedule = proposal.schedule
    own = f"{instance_hours(schedule.cost_instance_hours)} instance-hours over {_span(schedule)}"
    if schedule.price is not None and schedule.instance_price_per_hour is not None:
        own = (
            f"{own}, at a price of {number(schedule.price)} (an instance-hour is weighed as "
            f"{number(schedule.instance_price_per_hour)})"
        )
    compared = [_against(proposal, each) for each in _compared(proposal)]
    return f"{own}: {'; '.join(compared)}." if compared else f"{own}."


def _span(schedule: ScalingSchedule) -> str:
    """The horizon; a long one to the quarter of an hour."""
    span_s = (schedule.end - schedule.start).total_seconds()
    return duration(round(span_s / 900) * 900 if span_s >= 6 * 3600 else span_s)


def _compared(proposal: Proposal) -> list[Alternative]:
    """Today's plan and a reactive scaler, what happens without forescale; the page folds the others away."""
    costed = {each.kind: each for each in proposal.schedule.alternatives}
    return [costed[kind] for kind in (AlternativeKind.HOLD, AlternativeKind.REACTIVE) if kind in costed]


def _against(proposal: Proposal, other: Alternative) -> str:
    hours = instance_hours(other.cost_instance_hours)
    if proposal.schedule.price is not None and other.price is not None:
        hours = f"{hours} instance-hours at a price of {number(other.price)}"
    parts = filter(None, (hours, rescued_words(proposal.schedule, other)))
    return f"{cost_difference(proposal.schedule, other)} against {alternative_name(other)} ({', '.join(parts)})"


def cost_difference(one: ScalingSchedule | Alternative, other: ScalingSchedule | Alternative) -> str:
    """By price if both have one, else by instance-hours."""
    if one.price is not None and other.price is not None:
        return difference(one.price, other.price)
    return difference(one.cost_instance_hours, other.cost_instance_hours)


def risk(proposal: Proposal, *, brief: bool = False) -> str:
    """Expected late minutes, with the schedule and without; unless brief, those of the past week and what is late."""
    schedule = proposal.schedule
    if not proposal.schedule.basis.rung.plans:
        return "Not known: there is no forecast to compare today's plan with."
    told = f"{late(schedule.violation_minutes)} expected"
    if schedule.violation_minutes >= NEGLIGIBLE:
        told = f"{told} ({percent(schedule.violation_probability)} probability of any)"
    if schedule.allowed_minutes is not None:
        told = f"{told}; {minutes(schedule.allowed_minutes)} allowed"
    if schedule.steps and (without := _without(proposal)):
        told = f"{told}. {without}"
    if brief:
        return f"{told[0].upper()}{told[1:]}."
    if proposal.past is not None and proposal.past.known:
        told = f"{told}. {past_late(proposal.past, in_shadow=proposal.in_shadow)}"
    if proposal.max_lag_s is not None:
        told = f"{told}. Late: a minute with more than {duration(proposal.max_lag_s)} of lag"
    return f"{told[0].upper()}{told[1:]}."


def _without(proposal: Proposal) -> str:
    """Late minutes of today's plan and of a reactive scaler."""
    told = "; ".join(f"{alternative_name(each)}: {late(each.violation_minutes)}" for each in _compared(proposal))
    return f"{told[:1].upper()}{told[1:]}"


def late(expected: float) -> str:
    """Expected late minutes, in words.

    >>> [late(each).replace(NBSP, " ") for each in (0.0, 0.3, 20.6)]
    ['no minute late', '0.3 min late', '20.6 min late']
    """
    if isnan(expected):
        return "minutes late unknown"
    return "no minute late" if expected < NEGLIGIBLE else f"{minutes(expected)} late"


def difference(cost: float, against: float) -> str:
    """Cost relative to another, both in the same unit.

    >>> difference(178.0, 384.0).replace(NBSP, " "), difference(384.0, 178.0).replace(NBSP, " "), difference(1.0, 1.0)
    ('−54 %', '+116 %', 'the same')
    """
    if against <= 0:
        return "–"
    share = cost / against - 1
    if abs(share) < 0.005:
        return "the same"
    return f"{'+' if share > 0 else '−'}{percent(abs(share))}"


def asked(proposal: Proposal) -> str:
    """What a person has to do, and by when."""
    steps, local = proposal.schedule.steps, proposal.local
    if proposal.in_shadow:
        return "Nothing: in shadow mode (planning.mode) nothing is deployed; today's plan is the one that would run."
    if not proposal.schedule.basis.rung.plans:
        return "Nothing to review: see to the cause. Steps that were approved before stand."
    if not steps:
        return "Nothing: today's plan stays, and the next decision looks again."
    if not proposal.asks:
        return f"Nothing: {_states(proposal)}."
    waiting = proposal.waiting
    which = f"{len(waiting)} of {len(steps)} steps" if len(waiting) < len(steps) else _all(len(steps))
    left_s = (steps[waiting[0]].deploy_at - proposal.at).total_seconds()
    left_s = left_s // 60 * 60  # whoever has a minute needs no seconds
    by = f"by {local.moment(steps[waiting[0]].deploy_at)}, in {duration(left_s)}" if left_s >= AT_ONCE_S else "now"
    late_review = proposal.schedule.is_too_late_for_review(steps[waiting[0]])
    silence = "" if late_review else " What nobody approves expires."
    return f"Approve, veto or edit {which} {by}.{silence}"


def _all(count: int) -> str:
    return "the step" if count == 1 else "both steps" if count == 2 else f"all {count} steps"


def _states(proposal: Proposal) -> str:
    states = [proposal.state(index) for index in range(len(proposal.schedule.steps))]
    seen = dict.fromkeys(states)
    return ", ".join(f"{count_of(states.count(state), 'step')} {state}".replace(" ", NBSP, 1) for state in seen)


def overload_note(proposal: Proposal) -> str:
    """Why steps are planned that cannot take their whole planned load; empty if there are none."""
    schedule = proposal.schedule
    beyond = [index + 1 for index, step in enumerate(schedule.steps) if step.utilisation > 1]
    if not beyond:
        return ""
    which = f"Step {beyond[0]} falls" if len(beyond) == 1 else f"Steps {', '.join(map(str, beyond))} fall"
    expected, allowed = schedule.violation_minutes, schedule.allowed_minutes
    counted = (
        f"{which} behind for a while if the {quantile_name(schedule.quantile)} load comes; the expected late minutes"
    )
    if allowed is None or proposal.breaks_budget:
        return f"{counted} include that."
    return f"{counted} include that and stay within the budget ({minutes(expected)} of {minutes(allowed)})."


def step_changes(proposal: Proposal, index: int) -> tuple[str, ...]:
    """Parallelism of each operator that a step changes, before and after."""
    step = proposal.schedule.steps[index]
    return parallelism_change(step.replaces, step.plan)
