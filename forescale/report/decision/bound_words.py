"""Instances that people want in spans of the horizon (planning.windows), in words."""

from datetime import UTC, datetime

from forescale.report.decision.proposal import Proposal
from forescale.report.kit.schedule_words import bound_words
from forescale.report.kit.wording import sentence
from planner.decision_basis import BoundedSpan
from planner.edit_facts import LimitKind
from planner.horizon.spans import passed_spans
from planner.limits import within_spans

MAX_BOUNDS = 3
"""Spans with bounds that the first screen lists."""
NEGLIGIBLE_S = 60.0
"""Within a span, how long its bounds may be broken before a warning names it."""
LIMITS = "max_instances, max_step, max_rescales_a_day, min_dwell_s, scale_out_only, freeze, review_s, lead_s"


def bounds(proposal: Proposal) -> str:
    """The first of them; empty without any."""
    told = [_words(proposal, span) for span in proposal.schedule.basis.bounded]
    more = [f"{len(told) - MAX_BOUNDS} more"] if len(told) > MAX_BOUNDS else []
    return sentence("; ".join([*told[:MAX_BOUNDS], *more])) if told else ""


def unkept_bounds(proposal: Proposal) -> str:
    """The first span whose bounds a schedule breaks, unless a person has overridden them; of a plan that is held as
    nothing can be planned by, also the remedy.
    """
    schedule = proposal.schedule
    if schedule.basis.rung.plans:
        edit = schedule.basis.edit
        overridden = edit is not None and any(each.limit is LimitKind.WINDOWS for each in edit.all_overridden)
        return "" if overridden else _broken(proposal)
    if proposal.in_shadow:
        return ""
    running = dict(schedule.current.parallelism)
    for span in schedule.basis.bounded:
        if (wanted := within_spans(running, [span])) != running:
            other = {name: count for name, count in wanted.items() if count != running[name]}
            runs = ", ".join(f"{name} {running[name]}" for name in other)
            changes = " --set ".join(f"{name}={count}" for name, count in other.items())
            how = f"`forescale deploy now {schedule.topology} --set {changes}`"
            if schedule.basis.floor:
                how = "set the scaler's bounds"
            return (
                f"There is nothing to plan by, so planning.windows is kept by hand: {_words(proposal, span)}, and "
                f"{runs} is held. Unless an approved step changes that in time, {how}."
            )
    return ""


def _broken(proposal: Proposal) -> str:
    schedule = proposal.schedule
    from_s, plan, broken = schedule.made_at.timestamp(), schedule.current.parallelism, dict[int, str]()
    for step in (*schedule.steps, None):
        until_s = (schedule.end if step is None else step.runs_from).timestamp()
        for number, span in enumerate(schedule.basis.bounded):
            begins_s, ends_s = max(from_s, span.start_s), min(until_s, span.end_s)
            for _, name, count, _ in passed_spans(plan, from_s, until_s, [span]):
                if ends_s - begins_s > NEGLIGIBLE_S and number not in broken:
                    when = proposal.local.span(*(datetime.fromtimestamp(at_s, UTC) for at_s in (begins_s, ends_s)))
                    broken[number] = f"{_words(proposal, span)}, and {name} has {count} on {when}"
        if step is not None:
            from_s, plan = until_s, step.plan.parallelism
    if not broken:
        return ""
    first, *others = broken.values()
    more = f"; {len(others)} more" if others else ""
    why = "" if schedule.basis.edit is not None else f" No change within the limits prevents that ({LIMITS})."
    return f"planning.windows is not kept: {first} {proposal.local.name}{more}.{why}"


def _words(proposal: Proposal, span: BoundedSpan) -> str:
    when = proposal.local.span(*(datetime.fromtimestamp(at_s, UTC) for at_s in (span.start_s, span.end_s)))
    return f"{bound_words(span)} on {when}"
