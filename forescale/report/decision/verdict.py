"""What a reviewer reads first: what will change, when, why, at what cost, and what to decide."""

from collections.abc import Sequence

from forescale.report.decision.decision import DecisionReport
from forescale.report.kit.decision_words import RUNGS, basis_summary, past_in_violation
from forescale.report.kit.table import Sentence
from forescale.report.kit.wording import (
    NBSP,
    duration,
    instance_hours,
    moment,
    number,
    parallelism_change,
    percent,
    quantile_name,
    rate,
    sentence,
)
from modeling.estimate import Estimate
from modeling.wording import count_of
from planner.decision_basis import Rung
from planner.ledger.entries import StepEntry
from planner.scaling_schedule import Alternative, ScalingSchedule, ScheduledStep
from planner.schedule import HOLD

FLOOR_MODE = (
    "Floor mode (planning.mode): each plan is a lower bound, and a reactive scaler or a person decides above it"
)
OPEN_STATES = frozenset({"proposed"})
NEGLIGIBLE = 0.005
"""Violation minutes below which none are mentioned."""


def headline(decision: DecisionReport) -> str:
    """One sentence: what will change, and what it is planned by if not by a forecast."""
    rung = decision.rung
    return _change(decision) if rung is Rung.FORECAST else f"{_change(decision)} ({RUNGS[rung]})"


def _change(decision: DecisionReport) -> str:
    schedule = decision.schedule
    running = f"{count_of(schedule.current.instances, 'instance')}"
    would = decision.in_shadow
    if not schedule.steps:
        hold = "Would hold" if would else "Hold"
        return f"{hold} {decision.topology} at its {running} until {moment(schedule.end)} UTC"
    sizes = [schedule.current.instances, *(step.plan.instances for step in schedule.steps)]
    way = " → ".join(str(size) for size in sizes) if len(sizes) <= 6 else f"{min(sizes)} to {max(sizes)}"
    times = "once" if len(schedule.steps) == 1 else f"{len(schedule.steps)} times"
    if schedule.basis.floor:
        last = moment(schedule.steps[-1].deploy_at)
        return f"Move the floor of {decision.topology} {times} by {last} UTC: {way} instances at least"
    rescale = "Would rescale" if would else "Rescale"
    return f"{rescale} {decision.topology} {times} by {moment(schedule.steps[-1].deploy_at)} UTC: {way} instances"


def sentences(decision: DecisionReport) -> tuple[Sentence, ...]:
    """When, why, at what cost, and what to decide; later also what happened."""
    return (
        *([Sentence("First step", _first(decision))] if decision.schedule.steps else []),
        Sentence("Why", sentence(decision.schedule.why)),
        *([Sentence("Planned by", sentence(told))] if (told := basis_summary(decision.schedule.basis)) else []),
        *([Sentence("Peak", _peak(decision, decision.now_estimate))] if decision.now_estimate else []),
        Sentence("Risk", _risk(decision)),
        Sentence("Cost", _cost(decision)),
        *([Sentence("Mode", _mode())] if decision.schedule.basis.floor else []),
        Sentence("Asked of you", _to_decide(decision)),
    )


def schedule_summary(why: str, schedule: ScalingSchedule, steps: Sequence[StepEntry]) -> str:
    """The decision in Markdown: whether it is too late for a review, why, and a line for each step."""
    waiting = [each for each, step in zip(schedule.steps, steps, strict=True) if step.state.value in OPEN_STATES]
    late = [f"**{too_late(schedule, each)}**\n" for each in waiting[:1] if schedule.is_too_late_for_review(each)]
    lines = [f"- {step.deploy_at:%a %H:%M} UTC: {step.plan.brief()} ({step.reason})" for step in steps]
    return "\n".join([*late, why, *lines])


def _mode() -> str:
    return f"{FLOOR_MODE}. Cost and risk are as if nobody else scaled: more above the floor costs more and misses less."


def _first(decision: DecisionReport) -> str:
    step = decision.schedule.steps[0]
    change = ", ".join(parallelism_change(step.replaces, step.plan))
    ahead_s = (step.deploy_at - decision.schedule.made_at).total_seconds()
    if ahead_s < 60:
        return f"{change} at once ({moment(step.deploy_at)} UTC)."
    return f"{change} at {moment(step.deploy_at)} UTC, {duration(ahead_s)} after this decision."


def _peak(decision: DecisionReport, now: Estimate) -> str:
    parts = []
    for source, load_per_s in now.load_per_s.items():
        usable_per_s = now.mst_per_s[source] * decision.max_utilisation
        parts.append(
            f"{source}: {rate(load_per_s)} planned for ({quantile_name(decision.quantile)}), "
            f"the current plan carries {rate(usable_per_s)} within its headroom"
        )
    told = "; ".join(parts)
    if now.utilisation >= 1:
        return f"{told}. Under that peak {now.bottleneck} would be unstable at {percent(now.utilisation)}."
    return f"{told}. Under that peak {now.bottleneck} would be {percent(now.utilisation)} busy."


def _cost(decision: DecisionReport) -> str:
    schedule = decision.schedule
    span_s = (schedule.end - schedule.start).total_seconds()
    own = f"{instance_hours(schedule.cost_instance_hours)} instance-hours over {duration(span_s)}"
    if schedule.price is not None and schedule.instance_price_per_hour is not None:
        own = (
            f"{own}, at a price of {number(schedule.price)} "
            f"(an instance-hour is weighed as {number(schedule.instance_price_per_hour)})"
        )
    if not schedule.alternatives:
        return f"{own}. No alternative was costed."
    others = sorted(schedule.alternatives, key=lambda other: other.cost_instance_hours)
    return f"{own}. " + " ".join(_against(other, schedule.cost_instance_hours) for other in others)


def _risk(decision: DecisionReport) -> str:
    """Expected violations, with the schedule and without any step."""
    schedule = decision.schedule
    if not decision.rung.plans:
        return "Not known: there is no forecast to compare the running plan with."
    told = f"{violation(schedule.violation_minutes)}, with a probability of {percent(schedule.violation_probability)}"
    if schedule.allowed_minutes is not None:
        told = f"{told}; the budget allows {number(schedule.allowed_minutes)} min over this horizon"
    if decision.past is not None and decision.past.known:
        told = f"{told}. {past_in_violation(decision.past, in_shadow=decision.in_shadow)}"
    held = [other for other in schedule.alternatives if other.name == HOLD]
    if schedule.steps and held:
        told = f"{told}. Without any step: {violation(held[0].violation_minutes)}"
    return f"{told[0].upper()}{told[1:]}."


def _against(other: Alternative, own_hours: float) -> str:
    hours = f"{instance_hours(other.cost_instance_hours)} ({difference(other, own_hours)})"
    return f"“{other.name}” costs {hours} with {violation(other.violation_minutes)}."


def violation(minutes: float) -> str:
    """Expected minutes in violation, in words."""
    return "no violation expected" if minutes < NEGLIGIBLE else f"{number(minutes)} min in violation expected"


def difference(other: Alternative, own_hours: float) -> str:
    """Cost of an alternative relative to the schedule."""
    if own_hours <= 0:
        return "–"
    share = other.cost_instance_hours / own_hours - 1
    if abs(share) < 0.005:
        return "the same"
    return f"{'+' if share > 0 else '−'}{percent(abs(share))}"


def _to_decide(decision: DecisionReport) -> str:
    steps = decision.schedule.steps
    if decision.in_shadow:
        return "Nothing: in shadow mode (planning.mode) nothing is deployed; “current” is the plan that would run."
    if not decision.rung.plans:
        return "Nothing to review: see to the cause. Steps that were approved before stand."
    if not steps:
        return "Nothing: the current plan stays, and the next decision looks again."
    waiting = [step for index, step in enumerate(steps) if decision.state(index) in OPEN_STATES]
    if decision.outcome is not None or not waiting:
        return f"Nothing: {_states(decision)}."
    which = f"{len(waiting)} of {len(steps)} steps" if len(waiting) < len(steps) else _all(len(steps))
    schedule, first = decision.schedule, waiting[0]
    at = moment(first.deploy_at)
    due = f"before {at} UTC" if first.deploy_at > schedule.made_at else "now: the first is due already"
    late = schedule.is_too_late_for_review(first)
    silence = (
        too_late(schedule, first) if late else "A step that nobody approves expires, and the plan before it stays."
    )
    return f"Approve, edit or veto {which} {due}. {silence}"


def too_late(schedule: ScalingSchedule, first: ScheduledStep) -> str:
    """Why the first step that needs approval is due before a review can be over, and what happens then."""
    return (
        f"It is too late for a review of {duration(schedule.review_s)} (planning.review_s): the load comes sooner. "
        f"Without an answer {count_of(first.replaces.instances, 'instance')} "
        f"{'runs' if first.replaces.instances == 1 else 'run'} on; a late approval deploys the step at once, until "
        f"{moment(first.needed_until)} UTC."
    )


def _all(count: int) -> str:
    return "the step" if count == 1 else "both steps" if count == 2 else f"all {count} steps"


def _states(decision: DecisionReport) -> str:
    states = [decision.state(index) for index in range(len(decision.schedule.steps))]
    seen = dict.fromkeys(states)
    return ", ".join(f"{count_of(states.count(state), 'step')} {state}".replace(" ", NBSP, 1) for state in seen)
