"""Why a step is in its state, and why a person is asked about it, in words."""

from modeling.wording import count_of
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import Moved, StepState
from planner.review_cause import ReviewCause, ReviewCauseKind


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
        return step.reason
    from forescale.report.kit.guard_words import reason_words as guard_reason_words  # few steps wait

    return guard_reason_words(step.withheld)
