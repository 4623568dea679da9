"""What a standing says, in words: the same on the page of all topologies and on that of one."""

from forescale.report.kit.table import Cell
from forescale.report.kit.wording import day_moment, moment, number, parallelism_change, percent
from forescale.report.overview.standing import Standing
from modeling.wording import count_of
from planner.horizon.budget import PACED

UNKNOWN = "–"


def running_cell(standing: Standing) -> Cell:
    if not standing.running or standing.newest is None:
        return Cell(UNKNOWN, ("nothing was decided yet",))
    since = standing.running_since or standing.newest.schedule.made_at
    would = ("would run; shadow mode deploys nothing",) if standing.newest.shadow else ()
    return Cell(standing.running, (f"as of {moment(since)} UTC", *would))


def next_step_cell(standing: Standing) -> Cell:
    step = standing.next_step
    if step is None:
        return Cell("none", ("the plan is held",) if standing.newest else ())
    change = ", ".join(parallelism_change(step.replaces, step.plan))
    more = standing.waiting - 1
    return Cell(
        f"{day_moment(step.deploy_at)} UTC, {step.state}",
        (change, *((f"{count_of(more, 'step')} after it",) if more else ())),
        strong=True,
    )


def risk_cell(standing: Standing) -> Cell:
    if standing.newest is None:
        return Cell(UNKNOWN)
    schedule = standing.newest.schedule
    return Cell(
        percent(schedule.violation_probability), (f"{number(schedule.violation_minutes)} min in violation expected",)
    )


def budget_cell(standing: Standing) -> Cell:
    """Minutes in violation of the past week against what is allowed of those that are known."""
    if not standing.known:
        return Cell(UNKNOWN, (f"no lag is known of the past {PACED.days} days",))
    used = f"{count_of(standing.in_violation, 'minute')} of {standing.known:,}"
    if standing.allowed is None:
        return Cell(used, ("each has a price",))
    share = percent(standing.in_violation / standing.allowed) if standing.allowed else UNKNOWN
    return Cell(share, (f"{used}; {number(standing.allowed)} allowed",))


def alarms_cell(standing: Standing) -> Cell:
    first, *others = standing.alarms or (UNKNOWN,)
    return Cell(first, tuple(others), strong=bool(standing.alarms))
