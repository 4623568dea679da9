"""Why a step came into its state, and why a person has to approve it, as values that the ledger keeps. Pages and
commands put them in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from planner.codec import Codec
from planner.edit_facts import LimitPassed
from planner.errors import LedgerError


class ReviewCauseKind(StrEnum):
    """The first five are bounds of `planning.auto_approve`; UNPRICED: of a price that is not known."""

    COST = "cost"
    PRICE = "price"
    UNPRICED = "unpriced"
    PROBABILITY = "probability"
    MAX_STEP = "max_step"
    CALLS_OFF = "calls off"
    FOLLOWS = "follows"


@dataclass(frozen=True)
class ReviewCause:
    """value, bound: of the cost or price above that of holding, in instance-hours or the currency of the prices; of a
    probability; of instances that start or stop. price: of a COST, None if unknown. step: that is called off or
    followed; approved_by: who had approved it.
    """

    kind: ReviewCauseKind
    value: float = 0.0
    bound: float = 0.0
    price: float | None = None
    step: str = ""
    approved_by: str = ""


REVIEW_CAUSE = Codec(ReviewCause, 1, LedgerError, "a cause for review", "it stays in the ledger for a newer release")
"""Of what the ledger keeps."""


class StepCauseKind(StrEnum):
    """For each, the fields of StepCause that it has, where its name does not tell."""

    ASKED_FOR = "asked for"
    """by; detail: that person's words; limits: that this overrides."""
    EDITED = "edited"
    """Approved with an edit. by; detail: that person's words."""
    GUARD_ACTS = "guard acts"
    """action, diagnosis."""
    APPROVED_BEFORE = "approved before"
    """by, step, at: of the equal step; detail: what the schedule says of this one."""
    WITHIN_BOUNDS = "within bounds"
    """bounds."""
    DUE = "due"
    ASKED = "asked"
    """The cluster was asked."""
    RESUMED = "resumed"
    FLOORED = "floored"
    """plan: to run over the floor; bound: most instances; of_scaler: asked of the cluster's scaler."""
    NEEDED = "needed"
    """The job needs what the step would take away."""
    RUNS = "runs"
    """at: since when; downtime_s; plan, floor: in floor mode; detail: a note of the cluster."""
    REFUSED = "refused"
    """detail: the cluster's words, as in the next five."""
    REFUSED_AGAIN = "refused again"
    """When it was taken up again, so that its first attempt may have changed something."""
    FAILED = "failed"
    UNDONE = "undone"
    """plan: what runs again."""
    NOT_UNDONE = "not undone"
    """more: the cluster's words on undoing, as in the next."""
    UNDOING_FAILED = "undoing failed"
    NEVER_ASKED = "never asked"
    """until: when its time went by."""
    TOO_LATE = "too late"
    """at, until: now, and when its time went by."""
    GUARD_ADVISES = "guard advises"
    """The guard no longer acts."""
    OTHER_SCHEDULE = "other schedule"
    """schedule."""
    LATER_SCHEDULE = "later schedule"
    """One that was made later had been recorded before."""
    SAME_STEP = "same step"
    """step."""
    STEP_AFTER = "step after"
    """step: takes the place of this one, which was withheld."""
    BY_HAND = "by hand"
    """plan, step."""
    GUARD_PLAN = "guard plan"
    """plan, before: what the guard has put in place, and of what."""
    CLOCK_AHEAD = "clock ahead"
    """Made while a clock was ahead."""
    CLOCK_RIGHT = "clock right"
    """Called off at a time ahead. state: it was in by then; at: that time."""
    DECIDED_AGAIN = "decided again"


@dataclass(frozen=True)
class StepCause:
    """Which fields are set depends on the kind. plan, before, floor: instances by operator. step, schedule: ids.
    detail, more: words of people and of clusters only.
    """

    kind: StepCauseKind
    step: str = ""
    schedule: str = ""
    by: str = ""
    at: datetime | None = None
    until: datetime | None = None
    plan: Mapping[str, int] = field(default_factory=dict)
    before: Mapping[str, int] = field(default_factory=dict)
    floor: Mapping[str, int] = field(default_factory=dict)
    bound: int | None = None
    of_scaler: bool = False
    downtime_s: float | None = None
    state: str = ""
    action: str = ""
    diagnosis: str = ""
    limits: tuple[LimitPassed, ...] = ()
    bounds: tuple[ReviewCause, ...] = ()
    detail: str = ""
    more: str = ""


STEP_CAUSE = Codec(StepCause, 1, LedgerError, "a cause of a step", "it stays in the ledger for a newer release")
"""Of what the ledger keeps."""

Why = str | StepCause
"""Words of a person, or a cause."""


def because(why: Why) -> dict[str, object]:
    """The columns of a step in the ledger: its reason, for words, and its cause."""
    if isinstance(why, str):
        return {"reason": why, "cause": {}}
    return {"reason": "", "cause": STEP_CAUSE.to_json(why)}
