"""The life of a step: its states and their order."""

from collections.abc import Mapping
from enum import StrEnum


class StepState(StrEnum):
    PROPOSED = "proposed"
    APPROVED = "approved"
    DUE = "due"
    DEPLOYING = "deploying"
    VERIFIED = "verified"
    ROLLED_BACK = "rolled back"
    VETOED = "vetoed"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    SHADOW = "shadow"


_CALLED_OFF = frozenset({StepState.VETOED, StepState.EXPIRED, StepState.SUPERSEDED})

FOLLOWS: Mapping[StepState, frozenset[StepState]] = {
    StepState.PROPOSED: _CALLED_OFF | {StepState.APPROVED},
    StepState.APPROVED: _CALLED_OFF | {StepState.DUE},
    StepState.DUE: _CALLED_OFF | {StepState.DEPLOYING},
    # A step that has touched the cluster can no longer be called off: it holds, or it is undone.
    StepState.DEPLOYING: frozenset({StepState.VERIFIED, StepState.ROLLED_BACK}),
    StepState.VERIFIED: frozenset(),
    StepState.ROLLED_BACK: frozenset(),
    StepState.VETOED: frozenset(),
    StepState.EXPIRED: frozenset(),
    StepState.SUPERSEDED: frozenset(),
    # Shadow mode: this state never leads to the cluster, and no other state leads to it.
    StepState.SHADOW: frozenset({StepState.SUPERSEDED}),
}
"""States that may follow each state; none follows a final one."""

WAITING = (StepState.PROPOSED, StepState.APPROVED, StepState.DUE)
"""States of a step that has not touched the cluster and still may."""
