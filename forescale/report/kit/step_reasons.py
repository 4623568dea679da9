"""Why a step is in its state, and why a person is asked about it, in words."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from modeling.wording import count_of
from planner.edit_facts import brief
from planner.ledger.entries import StepEntry, StepEvent
from planner.ledger.step_state import Moved, StepState
from planner.step_cause import ReviewCause, ReviewCauseKind, StepCause, StepCauseKind, Why


def reason_words(step: StepEntry) -> str:
    """Why a step is in its state, what it follows on if not on what its schedule says, and why a person is asked."""
    moved = ""
    if step.moved is Moved.BY_GUARD:
        moved = f"follows on {step.replaces.brief()}, which the guard has put in place"
    elif step.moved is Moved.AGAINST_GUARD:
        moved = (
            f"follows on {step.replaces.brief()}, which the guard has put in place, and takes back instances that it "
            "added: when due, it waits while the load needs them"
        )
    elif step.moved is Moved.PAST_WITHHELD:
        moved = f"follows on {step.replaces.brief()}, as the steps before it were withheld"
    elif step.moved is Moved.PAST_EXPIRED:
        moved = f"follows on {step.replaces.brief()}, as the steps before it were not deployed in their time"
    because = step.asked_because if step.review_cause is None else review_cause_words(step.review_cause)
    asked = f"asked because {because}" if because and step.state is StepState.PROPOSED else ""
    return "; ".join(filter(None, (_state_words(step), moved, asked)))


def made_words(first: StepEvent) -> str:
    """Who asked for a step, and why."""
    if first.cause is not None:
        return why_words(first.cause)
    return f"asked for by {first.by}" + (f" ({first.why})" if first.why else "")


def state_reasons(steps: Sequence[StepEntry]) -> dict[int, str]:
    """Why steps that are no longer proposed are in their states, by index."""
    return {at: reason_words(step) for at, step in enumerate(steps) if step.state is not StepState.PROPOSED}


def review_cause_words(cause: ReviewCause) -> str:
    """Why a person has to approve a step."""
    allows = "planning.auto_approve allows"
    match cause.kind:
        case ReviewCauseKind.COST:
            priced = "" if cause.price is None else f" (a price of {cause.price:.3g})"
            more = f"the schedule costs {cause.value:.3g} instance-hours{priced} more than holding"
            return f"{more}, {allows} {cause.bound:.3g}"
        case ReviewCauseKind.PRICE:
            return f"the schedule costs a price of {cause.value:.3g} more than holding, {allows} {cause.bound:.3g}"
        case ReviewCauseKind.UNPRICED:
            return (
                "prices of plans are unknown, so planning.auto_approve.max_cost_price cannot be checked; give "
                "operators, or the site of the section packing, a price_per_hour"
            )
        case ReviewCauseKind.PROBABILITY:
            expected = f"a violation is expected with a probability of {cause.value:.0%}"
            return f"{expected}, {allows} {cause.bound:.0%}"
        case ReviewCauseKind.MAX_STEP:
            return f"it starts or stops {count_of(int(cause.value), 'instance')}, {allows} {cause.bound:g}"
        case ReviewCauseKind.CALLS_OFF:
            return f"it would call off step {cause.step}, which {cause.approved_by} approved"
        case ReviewCauseKind.FOLLOWS:
            return f"it follows on step {cause.step}, which is not approved"


def _state_words(step: StepEntry) -> str:
    if step.state is not StepState.WITHHELD or step.withheld is None:
        return why_words(step.why) or f"{step.state} by {step.updated_by}"
    from forescale.report.kit.guard_words import reason_words as guard_reason_words  # few steps wait

    return guard_reason_words(step.withheld)


def why_words(why: Why) -> str:
    """Why a step came into a state: a person's words as they are."""
    return why if isinstance(why, str) else _cause_words(why)


_PLAIN: Mapping[StepCauseKind, str] = {
    StepCauseKind.DUE: "its time has come",
    StepCauseKind.ASKED: "asked the cluster",
    StepCauseKind.RESUMED: "taken up again after it was cut short",
    StepCauseKind.NEEDED: "the job needs what the step would take away",
    StepCauseKind.GUARD_ADVISES: "the guard only advises now (planning.guard.mode, planning.mode)",
    StepCauseKind.LATER_SCHEDULE: "a schedule that was made later had been recorded before",
    StepCauseKind.CLOCK_AHEAD: "made while a clock was ahead: decide anew",
    StepCauseKind.DECIDED_AGAIN: "decided again at the right time",
}


def _cause_words(cause: StepCause) -> str:
    match cause.kind:
        case StepCauseKind.ASKED_FOR:
            own = f" ({cause.detail})" if cause.detail else ""
            overrides = f", which overrides: {'; '.join(map(str, cause.limits))}" if cause.limits else ""
            return f"asked for by {cause.by}{own}{overrides}"
        case StepCauseKind.EDITED:
            return f"approved with the edit by {cause.by}" + (f": {cause.detail}" if cause.detail else "")
        case StepCauseKind.GUARD_ACTS:
            return f"{cause.action}: {cause.diagnosis}"
        case StepCauseKind.APPROVED_BEFORE:
            first = f"approved before by {cause.by}, as step {cause.step} at {cause.at:%a %H:%M}"
            return f"{first}: {cause.detail}" if cause.detail else first
        case StepCauseKind.WITHIN_BOUNDS:
            return f"within planning.auto_approve: {', '.join(map(_bound_words, cause.bounds))}"
        case StepCauseKind.FLOORED:
            return _floored_words(cause)
        case StepCauseKind.OTHER_SCHEDULE:
            return f"schedule {cause.schedule} takes its place"
        case StepCauseKind.SAME_STEP:
            return f"step {cause.step} is the same and takes its place"
        case StepCauseKind.STEP_AFTER:
            return f"step {cause.step} takes its place, which was withheld"
        case StepCauseKind.BY_HAND:
            return f"{brief(cause.plan)} was deployed by hand (step {cause.step}): decide anew"
        case StepCauseKind.GUARD_PLAN:
            return f"the guard has put {brief(cause.plan)} in place of {brief(cause.before)}: decide anew"
        case StepCauseKind.CLOCK_RIGHT:
            return f"{cause.state} while a clock was ahead ({_minute(cause.at)} UTC), so it waits again"
        case StepCauseKind.TOO_LATE:
            return f"it is {_minute(cause.at)} UTC, and the step was only good until {_minute(cause.until)}"
    return _PLAIN.get(cause.kind) or _deployment_words(cause)


def _deployment_words(cause: StepCause) -> str:
    """How a deployment ended."""
    match cause.kind:
        case StepCauseKind.RUNS:
            after = "" if cause.downtime_s is None else f" after {cause.downtime_s:.2g} s of downtime"
            # Read later, too, when another plan may run.
            runs = f"in place at {cause.at:%Y-%m-%d %H:%M:%S} UTC{after}"
            if cause.floor:
                runs = f"{brief(cause.plan)} {runs}; the floor is {brief(cause.floor)}"
            return "; ".join(filter(None, [runs, cause.detail]))
        case StepCauseKind.REFUSED:
            return f"refused, nothing changed: {cause.detail}"
        case StepCauseKind.REFUSED_AGAIN:
            return f"refused when it was taken up again: {cause.detail}"
        case StepCauseKind.NEVER_ASKED:
            gone = f"its time has gone by at {_minute(cause.until)} UTC"
            return f"cut short before the cluster took it, and {gone}; nothing changed"
        case StepCauseKind.UNDONE:
            return f"{cause.detail}; undone, {brief(cause.plan)} runs again"
        case StepCauseKind.NOT_UNDONE:
            return f"{cause.detail}; could not be undone: {cause.more}"
        case StepCauseKind.UNDOING_FAILED:
            return f"{cause.detail}; undoing it failed too: {cause.more}"
    return cause.detail


def _bound_words(bound: ReviewCause) -> str:
    """A bound of `planning.auto_approve` that a schedule keeps."""
    match bound.kind:
        case ReviewCauseKind.MAX_STEP:
            return f"at most {count_of(int(bound.bound), 'instance')} a step"
        case ReviewCauseKind.COST:
            return f"{bound.value:.3g} of {bound.bound:.3g} instance-hours over holding"
        case ReviewCauseKind.PRICE:
            return f"a price of {bound.value:.3g} of {bound.bound:.3g} over holding"
    return f"violation with {bound.value:.0%} of {bound.bound:.0%}"


def _floored_words(cause: StepCause) -> str:
    """What a step of floor mode asks for, and why that is not the floor."""
    pairs = {name: (count, cause.floor[name]) for name, count in cause.plan.items()}
    above = [f"{name} {count}" for name, (count, least) in pairs.items() if count > least]
    short = [f"{name} {count} of {least}" for name, (count, least) in pairs.items() if count < least]
    on = "the bound of the cluster's scaler" if cause.of_scaler else "what runs"
    words = [f"floor {brief(cause.floor)} on {on}"]
    if above:
        words.append(
            f"{', '.join(above)} above the floor {'is' if len(above) == 1 else 'are'} not forescale's to lower"
        )
    if short:
        words.append(f"planning.max_instances of {cause.bound} leaves room for {', '.join(short)}")
    return "; ".join(words)


def _minute(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
