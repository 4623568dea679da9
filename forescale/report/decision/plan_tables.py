"""The tables on plans: what will change, which operator limits, which alternatives were considered."""

from collections.abc import Mapping
from math import isnan

from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.verdict import NEGLIGIBLE, difference
from forescale.report.kit.table import Cell, Table, numbers, texts
from forescale.report.kit.wording import (
    day_moment,
    duration,
    instance_hours,
    number,
    parallelism_change,
    percent,
    rate,
    span,
)
from modeling.estimate import Estimate
from modeling.excuse import Excuse
from modeling.flow.limits import OperatorLimit
from modeling.wording import count_of
from planner.scaling_schedule import ScheduledStep


def steps_table(decision: DecisionReport) -> Table:
    """One row per step, in the order of deployment."""
    columns = texts(
        "Step", "Deploy (UTC)", "Needed (UTC)", "Plan: now → then", "Why", "Expected", "Downtime + catch-up"
    )
    rows = [_step_row(decision, index, step) for index, step in enumerate(decision.schedule.steps)]
    return Table(columns, tuple(rows))


def _step_row(decision: DecisionReport, index: int, step: ScheduledStep) -> tuple[Cell, ...]:
    load = ", ".join(f"{source} {rate(load_per_s)}" for source, load_per_s in step.load_per_s.items())
    return (
        Cell(f"{index + 1}", (decision.state(index),), strong=True),
        Cell(day_moment(step.deploy_at), (f"in place by {day_moment(step.in_place_at)}",), strong=True),
        Cell(span(step.needed_from, step.needed_until, day_moment), (load,)),
        Cell(
            ", ".join(parallelism_change(step.replaces, step.plan)),
            (f"{step.replaces.instances} → {count_of(step.plan.instances, 'instance')}", *_price(step)),
            strong=True,
        ),
        Cell(step.why),
        Cell(
            f"{step.bottleneck} {_at_the_peak(step.utilisation, decision.max_utilisation)}",
            (f"carries {number(step.headroom_factor)} × that load" if any(step.load_per_s.values()) else "no load",),
        ),
        Cell(
            f"{duration(step.downtime_s)} + {duration(step.catch_up_s)}",
            () if step.disruption is None else (str(step.disruption),),
        ),
    )


def _price(step: ScheduledStep) -> tuple[str, ...]:
    """Price of the plan per hour, and the difference from the plan before; empty without prices."""
    if step.price_per_hour is None or step.more_per_hour is None:
        return ()
    more = (
        f"{'+' if step.more_per_hour > 0 else '−'}{number(abs(step.more_per_hour))}" if step.more_per_hour else "as now"
    )
    return (f"a price of {number(step.price_per_hour)} an hour ({more})",)


def _at_the_peak(share: float, max_utilisation: float) -> str:
    """Note on a step that may exceed max_utilisation at the planned quantile of its peak, as the budget allows."""
    if share <= max_utilisation:
        return f"{percent(share)} busy"
    return f"{percent(share)} busy at that peak: the expected minutes include the queue"


def utilisation(share: float, max_utilisation: float) -> str:
    """What a utilisation means, in words; empty if it is within the limit."""
    told = f"{percent(share)} busy"
    return f"{told}, {trouble}" if (trouble := _trouble(share, max_utilisation)) else told


def _trouble(share: float, max_utilisation: float) -> str:
    if share >= 1:
        return "unstable: its queue grows without end"
    return f"above the {percent(max_utilisation)} allowed" if share > max_utilisation else ""


def operators_table(now: Estimate, then: Estimate | None, max_utilisation: float) -> Table:
    """Operators of the current and the largest scheduled plan, under the planned peak."""
    moments = {"now": now} | ({"then": then} if then is not None else {})
    named = [f"{what} {word}" for word in moments for what in ("Instances", "Busy")]
    rows = [
        (
            Cell(name, _notes(name, moments, max_utilisation), strong=True),
            *(cell for estimate in moments.values() for cell in _operator_cells(estimate, name)),
        )
        for name in now.operators
    ]
    return Table((*texts("Operator"), *numbers(*named)), tuple(rows), compact=True)


def _operator_cells(estimate: Estimate, name: str) -> tuple[Cell, Cell]:
    operator = estimate.operators[name]
    return Cell(str(operator.parallelism)), Cell(percent(operator.utilisation), strong=operator.utilisation >= 1)


def _notes(name: str, moments: Mapping[str, Estimate], max_utilisation: float) -> tuple[str, ...]:
    """The numbers of the row in words: a limit, a breach, the arrivals."""
    limiting = [word for word, estimate in moments.items() if estimate.bottleneck == OperatorLimit(name)]
    breaches = [
        f"{word} {trouble}"
        for word, estimate in moments.items()
        if (trouble := _trouble(estimate.operators[name].utilisation, max_utilisation))
    ]
    arrivals = next(iter(moments.values())).operators[name].arrival_rate_per_s
    when = f" {' and '.join(limiting)}" if len(moments) > 1 else ""
    bottleneck = [f"the bottleneck{when}"] if limiting else []
    return (*bottleneck, *breaches, f"arrivals {rate(arrivals)}")


def alternatives_table(decision: DecisionReport) -> Table:
    """The schedule first, then its alternatives, cheapest first."""
    schedule = decision.schedule
    name = "this schedule" if schedule.steps else "this decision: hold"
    own = _schedule_row(
        name,
        "",
        schedule.cost_instance_hours,
        schedule.price,
        "–",
        len(schedule.steps),
        _minutes(schedule.violation_minutes),
    )
    others = [
        _schedule_row(
            other.name,
            other.excuse,
            other.cost_instance_hours,
            other.price,
            difference(other, schedule.cost_instance_hours),
            other.rescales,
            _minutes(other.violation_minutes),
        )
        for other in sorted(schedule.alternatives, key=lambda other: other.cost_instance_hours)
    ]
    columns = (*texts("Schedule"), *numbers("Instance-hours", "Against this", "Rescales", "Violation expected"))
    return Table(columns, (own, *others), compact=True)


def _minutes(minutes: float) -> str:
    if isnan(minutes):
        return number(minutes)
    return "none" if minutes < NEGLIGIBLE else f"{number(minutes)} min"


def _schedule_row(
    name: str, excuse: str, hours: float, price: float | None, against: str, rescales: int, missed: str
) -> tuple[Cell, ...]:
    head = Cell(name, (excuse,), strong=True)
    priced = () if price is None else (f"a price of {number(price)}",)
    return (head, Cell(instance_hours(hours), priced), Cell(against), Cell(str(rescales)), Cell(missed))


def excuses_table(decision: DecisionReport) -> Table:
    """Rejected candidate plans, each with the bound it broke and what would help."""
    rows = [_excuse_row(excuse, decision) for excuse in decision.schedule.excuses]
    columns = texts("Candidate", "Rejected because", "What would help")
    return Table(columns, tuple(rows))


def _excuse_row(excuse: Excuse, decision: DecisionReport) -> tuple[Cell, ...]:
    change = parallelism_change(decision.schedule.current, excuse.plan)
    of = f" of {excuse.operator}" if excuse.operator else ""
    return (
        Cell(", ".join(change), (count_of(excuse.plan.instances, "instance"),), strong=True),
        Cell(f"{excuse.target}{of}: {number(excuse.value)}, bound {number(excuse.bound)}"),
        Cell(excuse.remedy),
    )
