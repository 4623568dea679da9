"""The life of a step: its states and their order, and who made it."""

from collections.abc import Mapping
from enum import StrEnum


class StepState(StrEnum):
    """WITHHELD: due, but the job needs what it would take away, so it is tried again. UNDOING: its deployment failed
    and is being undone.
    """

    PROPOSED = "proposed"
    APPROVED = "approved"
    DUE = "due"
    WITHHELD = "withheld"
    DEPLOYING = "deploying"
    UNDOING = "undoing"
    VERIFIED = "verified"
    ROLLED_BACK = "rolled back"
    VETOED = "vetoed"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    SHADOW = "shadow"


CALLED_OFF = frozenset({StepState.VETOED, StepState.EXPIRED, StepState.SUPERSEDED})
"""States of a step that will never be deployed, and never was."""

FOLLOWS: Mapping[StepState, frozenset[StepState]] = {
    StepState.PROPOSED: CALLED_OFF | {StepState.APPROVED},
    StepState.APPROVED: CALLED_OFF | {StepState.DUE, StepState.WITHHELD},
    StepState.DUE: CALLED_OFF | {StepState.DEPLOYING, StepState.WITHHELD},
    StepState.WITHHELD: CALLED_OFF | {StepState.DUE},
    # A step that has touched the cluster can no longer be called off: it holds, or it is undone.
    StepState.DEPLOYING: frozenset({StepState.VERIFIED, StepState.UNDOING, StepState.ROLLED_BACK}),
    StepState.UNDOING: frozenset({StepState.ROLLED_BACK}),
    StepState.VERIFIED: frozenset(),
    StepState.ROLLED_BACK: frozenset(),
    StepState.VETOED: frozenset(),
    StepState.EXPIRED: frozenset(),
    StepState.SUPERSEDED: frozenset(),
    # Shadow mode: this state never leads to the cluster, and no other state leads to it.
    StepState.SHADOW: frozenset({StepState.SUPERSEDED}),
}
"""States that may follow each state; none follows a final one."""

TO_DEPLOY = (StepState.APPROVED, StepState.DUE, StepState.WITHHELD)
"""States of a step that is approved and has not touched the cluster."""
WAITING = (StepState.PROPOSED, *TO_DEPLOY)
"""States of a step that has not touched the cluster and still may."""
UNDER_WAY = (StepState.DEPLOYING, StepState.UNDOING)
"""States of a step whose deployment has begun and not ended; after an interruption it goes on from there."""


class Maker(StrEnum):
    """Who made a step."""

    SCHEDULE = "schedule"
    PERSON = "person"
    GUARD = "guard"


class Moved(StrEnum):
    """Why a step replaces another plan than its schedule says: the guard has put that plan in place (AGAINST_GUARD: the
    step takes back instances that the guard added), or the steps before it never ran: all of them were withheld, or the
    time of one went by.
    """

    BY_GUARD = "by guard"
    AGAINST_GUARD = "against guard"
    PAST_WITHHELD = "past withheld"
    PAST_EXPIRED = "past expired"


class Approval(StrEnum):
    """How a step was approved: by a person, within planning.auto_approve, or as an equal step was before."""

    PERSON = "person"
    BOUNDS = "bounds"
    INHERITED = "inherited"
