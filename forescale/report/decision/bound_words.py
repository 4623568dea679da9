"""Instances that people want in spans of the horizon (planning.windows), in words."""

from datetime import UTC, datetime

from forescale.report.decision.proposal import Proposal
from forescale.report.kit.wording import sentence
from modeling.wording import count_of
from planner.decision_basis import BoundedSpan
from planner.limits import within_spans

MAX_BOUNDS = 3
"""Spans with bounds that the first screen lists."""


def bounds(proposal: Proposal) -> str:
    """The first of them; empty without any."""
    told = [_words(proposal, span) for span in proposal.schedule.basis.bounded]
    more = [f"{len(told) - MAX_BOUNDS} more"] if len(told) > MAX_BOUNDS else []
    return sentence("; ".join([*told[:MAX_BOUNDS], *more])) if told else ""


def unkept_bounds(proposal: Proposal) -> str:
    """Of a plan that is held as nothing can be planned by: the first span whose bounds it breaks, and the remedy."""
    schedule = proposal.schedule
    if schedule.basis.rung.plans or proposal.in_shadow:
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


def _words(proposal: Proposal, span: BoundedSpan) -> str:
    when = proposal.local.span(*(datetime.fromtimestamp(at_s, UTC) for at_s in (span.start_s, span.end_s)))
    told = [f"at least {count_of(count, 'instance')} of {name}" for name, count in span.least.items()]
    told += [f"at most {count_of(count, 'instance')} of {name}" for name, count in span.most.items()]
    return f"{', '.join(told)} on {when}"
