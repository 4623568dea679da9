"""The tables on plans: what will change, which operator limits, which alternatives were considered."""

from collections.abc import Mapping

from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.proposal import Proposal
from forescale.report.decision.verdict import cost_difference, late, step_reason
from forescale.report.kit.local_time import LocalTime
from forescale.report.kit.schedule_words import alternative_name, alternative_words, rescued_words
from forescale.report.kit.table import Cell, Table, numbers, texts
from forescale.report.kit.wording import (
    duration,
    instance_hours,
    minutes,
    number,
    parallelism_change,
    percent,
    quantile_name,
    rate,
    sentence,
)
from modeling.estimate import Estimate
from modeling.excuse import Excuse
from modeling.flow.limits import OperatorLimit
from modeling.wording import count_of
from planner.scaling_schedule import AlternativeKind, ScalingSchedule, ScheduledStep
from planner.schedule import HEADROOM, VIOLATION


def brief_steps_table(proposal: Proposal) -> Table:
    """One line per step: when, what changes, and what it is for."""
    columns = (
        *texts("Step", "Requested", "Instances", "Change"),
        *numbers(f"Load ({quantile_name(proposal.schedule.quantile)})", "Busy then"),
    )
    rows = [_brief_row(proposal, index, step) for index, step in enumerate(proposal.schedule.steps)]
    return Table(columns, tuple(rows))


def _brief_row(proposal: Proposal, index: int, step: ScheduledStep) -> tuple[Cell, ...]:
    return (
        Cell(f"{index + 1}", (proposal.state(index),), strong=True),
        Cell(proposal.local.day_moment(step.deploy_at), strong=True),
        Cell(f"{step.replaces.instances} → {step.plan.instances}", strong=True),
        Cell(", ".join(parallelism_change(step.replaces, step.plan))),
        Cell(_load(step)),
        Cell(percent(step.utilisation), ("falls behind",) if step.utilisation > 1 else ()),
    )


def _load(step: ScheduledStep) -> str:
    if len(step.load_per_s) == 1:
        return rate(next(iter(step.load_per_s.values())))
    return ", ".join(f"{source} {rate(load_per_s)}" for source, load_per_s in step.load_per_s.items())


def steps_table(decision: DecisionReport) -> Table:
    """Each step in detail, in the order of deployment."""
    columns = texts("Step", "Requested → caught up", "Carries the load", "Plan", "Why", "Limit", "Change")
    rows = [_step_row(decision, index, step) for index, step in enumerate(decision.schedule.steps)]
    return Table(columns, tuple(rows))


def _step_row(decision: DecisionReport, index: int, step: ScheduledStep) -> tuple[Cell, ...]:
    local, named = decision.local, ", ".join(f"{source} {rate(per_s)}" for source, per_s in step.load_per_s.items())
    return (
        Cell(f"{index + 1}", (decision.state(index),), strong=True),
        Cell(
            local.day_moment(step.deploy_at),
            (f"runs from {local.day_moment(step.runs_from)}", catch_up(step, local)),
            strong=True,
        ),
        Cell(local.span(step.needed_from, step.needed_until, brief=True), (f"up to {named}",)),
        Cell(
            step.plan.brief(),
            (f"{step.replaces.instances} → {count_of(step.plan.instances, 'instance')}", *_price(step)),
            strong=True,
        ),
        Cell(step_reason(decision.proposal, index), _state_reason(decision.proposal, index)),
        Cell(f"{step.bottleneck} {percent(step.utilisation)} busy", (_room(step),)),
        Cell(f"stops for {duration(step.downtime_s)}", () if step.disruption is None else (str(step.disruption),)),
    )


def _state_reason(proposal: Proposal, index: int) -> tuple[str, ...]:
    """Why a step that is no longer proposed is in its state, as a terminal says it."""
    reason = proposal.reasons.get(index, "")
    return (reason,) if reason and not proposal.in_shadow else ()


def _room(step: ScheduledStep) -> str:
    """How far the plan is from its limit under the planned load.

    1.25 times the load is `room for 25 % more`, .8 times `25 % more than it can process`.
    """
    if not any(step.load_per_s.values()):
        return "no load"
    if step.headroom_factor >= 1:
        return f"room for {percent(step.headroom_factor - 1)} more"
    return f"{percent(1 / step.headroom_factor - 1)} more than it can process"


def catch_up(step: ScheduledStep, local: LocalTime) -> str:
    """When the backlog of the change is gone, or that it is not before the next plan."""
    if not step.catches_up:
        return f"does not catch up before {local.day_moment(step.needed_until)}"
    return f"caught up by {local.day_moment(step.in_place_at)}"


def _price(step: ScheduledStep) -> tuple[str, ...]:
    """Price of the plan per hour, and the difference from the plan before; empty without prices."""
    if step.price_per_hour is None or step.more_per_hour is None:
        return ()
    more = (
        f"{'+' if step.more_per_hour > 0 else '−'}{number(abs(step.more_per_hour))}" if step.more_per_hour else "as now"
    )
    return (f"a price of {number(step.price_per_hour)} an hour ({more})",)


def _trouble(share: float, max_utilisation: float) -> str:
    if share >= 1:
        return "falls behind: its queue grows while that load lasts"
    return f"above the {percent(max_utilisation)} aimed for" if share > max_utilisation else ""


def operators_table(decision: DecisionReport, now: Estimate) -> Table:
    """How busy each operator is: with today's plan under the peak of the horizon, with the plan of each step under its
    own load. Columns of a step that repeats an earlier plan under a lower load are left out.
    """
    moments = {"now": now} | {
        f"step {', '.join(str(index + 1) for index in indices)}": decision.step_estimates[indices[0]]
        for indices in _busiest(decision)
    }
    rows = [
        (
            Cell(name, _notes(name, moments, decision.max_utilisation), strong=True),
            *(_operator_cell(estimate, name) for estimate in moments.values()),
        )
        for name in now.operators
    ]
    head = [word[0].upper() + word[1:] for word in moments]
    return Table((*texts("Operator"), *numbers(*head)), tuple(rows), compact=True)


def planned_peak(now: Estimate) -> str:
    """The peak of the horizon by source, as planned for."""
    return ", ".join(f"{source} {rate(load_per_s)}" for source, load_per_s in now.load_per_s.items())


def _busiest(decision: DecisionReport) -> list[list[int]]:
    """Steps grouped by plan, in order; the first of each group has the highest utilisation."""
    groups: dict[str, list[int]] = {}
    for index in decision.step_estimates:
        groups.setdefault(decision.schedule.steps[index].plan.plan_id, []).append(index)
    busy = {index: estimate.utilisation for index, estimate in decision.step_estimates.items()}
    return [sorted(group, key=lambda index: -busy[index]) for group in groups.values()]


def _operator_cell(estimate: Estimate, name: str) -> Cell:
    operator = estimate.operators[name]
    busy = percent(operator.utilisation)
    return Cell(busy, (count_of(operator.parallelism, "instance"),), strong=operator.utilisation >= 1)


def _notes(name: str, moments: Mapping[str, Estimate], max_utilisation: float) -> tuple[str, ...]:
    """The numbers of the row in words: where it limits, and where it is above the limit."""
    limiting = [word for word, estimate in moments.items() if estimate.bottleneck == OperatorLimit(name)]
    breaches = [
        f"{word}: {trouble}"
        for word, estimate in moments.items()
        if (trouble := _trouble(estimate.operators[name].utilisation, max_utilisation))
    ]
    return (*([f"limits {', '.join(limiting)}"] if limiting else []), *breaches)


def alternatives_table(proposal: Proposal) -> Table:
    """The schedule first, then its alternatives, cheapest first."""
    schedule = proposal.schedule
    own = _schedule_row(
        "this schedule" if schedule.steps else "this decision: keep today's plan",
        "",
        schedule.cost_instance_hours,
        schedule.price,
        "–",
        len(schedule.steps),
        late(schedule.violation_minutes),
    )
    others = [
        _schedule_row(
            alternative_name(other),
            rescued_words(schedule, other)
            if other.kind is AlternativeKind.HOLD
            else alternative_words(schedule, other),
            other.cost_instance_hours,
            other.price,
            cost_difference(other, schedule),
            other.rescales,
            late(other.violation_minutes),
        )
        for other in sorted(schedule.alternatives, key=lambda other: other.cost_instance_hours)
    ]
    columns = (*texts("Schedule"), *numbers("Instance-hours", "Against this", "Rescales", "Expected"))
    return Table(columns, (own, *others), compact=True)


def _schedule_row(
    name: str, excuse: str, hours: float, price: float | None, against: str, rescales: int, missed: str
) -> tuple[Cell, ...]:
    head = Cell(name, (excuse,), strong=True)
    priced = () if price is None else (f"a price of {number(price)}",)
    return (head, Cell(instance_hours(hours), priced), Cell(against), Cell(str(rescales)), Cell(missed))


def excuses_table(decision: DecisionReport) -> Table:
    """Rejected candidate plans, each with the bound it broke and what would help."""
    rows = [_excuse_row(excuse, decision) for excuse in decision.schedule.excuses]
    columns = texts("Plan", "Rejected because", "What would help")
    return Table(columns, tuple(rows))


def _excuse_row(excuse: Excuse, decision: DecisionReport) -> tuple[Cell, ...]:
    change = parallelism_change(decision.schedule.current, excuse.plan)
    return (
        Cell(", ".join(change), (count_of(excuse.plan.instances, "instance"),), strong=True),
        Cell(_rejection(excuse, decision.schedule)),
        Cell(excuse.remedy),
    )


def _rejection(excuse: Excuse, schedule: ScalingSchedule) -> str:
    """Late minutes against the budget, a share of time busy, or the reason in the words of the model."""
    if excuse.target == VIOLATION:
        allowed = schedule.allowed_minutes
        if allowed is not None and excuse.value > allowed:
            return f"{late(excuse.value)} expected, {minutes(allowed)} allowed"
        if excuse.value > excuse.bound and minutes(excuse.value) != minutes(excuse.bound):
            return f"{late(excuse.value)} expected, {minutes(excuse.bound)} with this schedule"
        return sentence(excuse.reason)  # it is not later, but costs more
    if excuse.target in ("utilisation", HEADROOM):
        return f"{excuse.operator or 'it'} would be {percent(excuse.value)} busy, {percent(excuse.bound)} allowed"
    return sentence(excuse.reason)
