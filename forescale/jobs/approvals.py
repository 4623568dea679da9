"""Approval of a new schedule without review: unchanged steps, and steps within `planning.auto_approve`."""

from datetime import datetime, timedelta

from forescale.files.topology import TopologyConfig
from planner.auto_approval import ApprovalBounds
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import TO_DEPLOY, WAITING, Approval, StepState
from planner.step_cause import ReviewCause, ReviewCauseKind

AUTO_APPROVE = "auto_approve"
"""Name of the approver in the ledger."""
SAME_WITHIN = timedelta(minutes=10)
"""Tolerance of a deploy time: schedule steps are minutes wide, and a new forecast may move one by a step."""


def settle(config: TopologyConfig, ledger: Ledger, entry: ScheduleEntry, at: datetime) -> None:
    """Approve steps that need no review, and record why the others need one. Idempotent."""
    if entry.shadow or config.planning.shadow:
        return
    ledger.approvals.inherit(entry.id, within=SAME_WITHIN, at=at)
    if config.planning.auto_approve is not None:
        _approve_small(config.planning.auto_approve.bounds, ledger, entry, at)


def needs_review(ledger: Ledger, entry: ScheduleEntry) -> bool:
    """Whether a person must decide: a step is open, or steps approved earlier would be called off."""
    steps = ledger.steps(schedule_id=entry.id)
    if entry.shadow or not steps:
        return False
    if any(step.state is StepState.PROPOSED for step in steps):
        return True
    return all(step.state in TO_DEPLOY for step in steps) and bool(ledger.approvals.standing(entry.id))


def _approve_small(bounds: ApprovalBounds, ledger: Ledger, entry: ScheduleEntry, at: datetime) -> None:
    """Approve steps in order up to the first that exceeds a bound. Steps approved by a person stand."""
    steps = ledger.steps(schedule_id=entry.id)
    if not all(step.state in WAITING for step in steps) or (not steps and bounds.schedule_beyond(entry.schedule)):
        return
    small, asked = _within_bounds(bounds, ledger, entry, steps)
    for step_id, cause in asked.items():
        ledger.approvals.ask(step_id, cause)
    if (small or not asked) and not _of_people(ledger, entry):
        why = bounds.within(entry.schedule)
        ledger.approve_schedule(entry.id, at=at, by=AUTO_APPROVE, why=why, only=small, how=Approval.BOUNDS)


def _within_bounds(
    bounds: ApprovalBounds, ledger: Ledger, entry: ScheduleEntry, steps: list[StepEntry]
) -> tuple[list[str], dict[str, ReviewCause]]:
    """Ids of proposed steps within the bounds; and for the others, by id, the bound exceeded."""
    small, asked = list[str](), dict[str, ReviewCause]()
    beyond = bounds.schedule_beyond(entry.schedule)
    if beyond is None and (standing := _of_people(ledger, entry)):
        by = ledger.approvals.approver(standing[0].id)
        beyond = ReviewCause(ReviewCauseKind.CALLS_OFF, step=standing[0].id, approved_by=by)
    for step in steps:
        if step.state in TO_DEPLOY:
            continue
        if (cause := beyond or bounds.step_beyond(step.replaces, step.plan)) is not None:
            asked[step.id] = cause
            beyond = beyond or ReviewCause(ReviewCauseKind.FOLLOWS, step=step.id)
        else:
            small.append(step.id)
    return small, asked


def _of_people(ledger: Ledger, entry: ScheduleEntry) -> list[StepEntry]:
    standing = ledger.approvals.standing(entry.id)
    return [step for step in standing if ledger.approvals.approved(step.id)[1] is not Approval.BOUNDS]
