"""A standing in words, the same on the page of all topologies and on the page of one."""

from forescale.report.decision.verdict import late
from forescale.report.kit.local_time import LocalTime
from forescale.report.kit.table import Cell
from forescale.report.kit.wording import minutes, parallelism_change, percent
from forescale.report.overview.alarms import alarms
from forescale.standing import Standing
from modeling.wording import count_of
from planner.horizon.budget import PACED
from planner.ledger.entries import ScheduleEntry
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScheduledStep

UNKNOWN = "–"
REPLACED = "a plan deployed by hand took the schedule's place; the next plan decides anew"


def running_cell(standing: Standing) -> Cell:
    if standing.schedule is None:
        return Cell(UNKNOWN, ("it cannot be read" if standing.damaged else "nothing was decided yet",))
    schedule, shadow = standing.schedule.schedule, standing.schedule.shadow
    running, since = schedule.current, schedule.made_at
    if not shadow:
        for step in standing.ended:
            if step.state is StepState.VERIFIED:
                running, since = step.plan, step.updated_at
    would = ("would run; shadow mode deploys nothing",) if shadow else ()
    return Cell(running.brief(), (f"as of {LocalTime(standing.timezone).moment(since)}", *would))


def next_step_cell(standing: Standing) -> Cell:
    """The next step, in shadow mode the one that nobody deploys, with expired steps of the newest schedule as notes."""
    local = LocalTime(standing.timezone)
    lost = tuple(f"the step of {local.day_moment(step.deploy_at)} expired" for step in standing.lost[-1:])
    step, ahead = standing.next_step, len(standing.ahead)
    if step is not None:
        at, replaces, plan, state = step.deploy_at, step.replaces, step.plan, step.state
    elif shadow := _shadow_steps(standing):
        first, ahead = shadow[0], len(shadow)
        at, replaces, plan, state = first.deploy_at, first.replaces, first.plan, StepState.SHADOW
    else:
        return Cell("none", (*_held(standing.schedule), *lost))
    change = ", ".join(parallelism_change(replaces, plan))
    after = (f"{count_of(ahead - 1, 'step')} after it",) if ahead > 1 else ()
    return Cell(f"{local.day_moment(at)}, {state}", (change, *after, *lost), strong=True)


def _shadow_steps(standing: Standing) -> list[ScheduledStep]:
    """Steps of a schedule of shadow mode that are still to come."""
    made = standing.schedule
    return [each for each in made.schedule.steps if each.deploy_at > standing.at] if made and made.shadow else []


def _held(made: ScheduleEntry | None) -> tuple[str, ...]:
    if made is None:
        return ()
    return (REPLACED,) if made.replaced_by else ("the plan is held",)


def risk_cell(standing: Standing) -> Cell:
    if standing.schedule is None:
        return Cell(UNKNOWN)
    if standing.schedule.replaced_by:
        return Cell(UNKNOWN, (REPLACED,))
    schedule = standing.schedule.schedule
    return Cell(f"{late(schedule.violation_minutes)} expected", (f"any: {percent(schedule.violation_probability)}",))


def budget_cell(standing: Standing) -> Cell:
    """Violation minutes among the known minutes of the past week, against the budget or with the price of each."""
    budget = standing.budget
    if budget is None:
        return Cell(UNKNOWN, ("its topology file would say what is allowed",) if standing.no_file else ())
    if not budget.past_minutes:
        return Cell(UNKNOWN, (f"no lag is known for the past {PACED.days} days",))
    used = f"{int(budget.used_minutes):,} of {count_of(int(budget.past_minutes), 'known minute')}"
    if (allowed := budget.past_allowed_minutes) is None:
        return Cell(used, (f"each costs {budget.price_h:g} instance-hours",))
    share = percent(budget.used_minutes / allowed) if allowed else UNKNOWN
    return Cell(share, (f"{used}; {minutes(allowed)} allowed",))


def alarms_cell(standing: Standing) -> Cell:
    first, *others = alarms(standing) or (UNKNOWN,)
    return Cell(first, tuple(others), strong=first != UNKNOWN)
