"""Why a step is in its state, where that is a fact."""

from planner.deployment import Deployment
from planner.ledger.entries import StepEntry
from planner.step_cause import StepCause


def cause_of(told: Deployment | StepEntry) -> StepCause:
    assert isinstance(told.why, StepCause), told.why
    return told.why
