"""Time to review a schedule before its first step: a proposal that nobody can answer in time decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from forescale.files.topology import TopologyConfig
from forescale.jobs.approvals import SAME_WITHIN
from forescale.situation.workspace import Workspace
from planner.auto_approval import ApprovalBounds
from planner.horizon.horizon_plan import Announced, Present
from planner.scaling_schedule import ScalingSchedule, ScheduledStep
from planner.schedule import NEARLY_MINUTES


@dataclass(frozen=True)
class ReviewTime:
    """review_s: from a decision to the first step that needs approval. bounds: of steps that need none, None: all do.
    approved: steps of an earlier schedule that were approved.
    """

    review_s: float
    bounds: ApprovalBounds | None
    approved: Sequence[Announced]

    def is_short(self, schedule: ScalingSchedule) -> bool:
        """Whether a step that needs approval is due before review_s have passed."""
        beyond = self.bounds is None or self.bounds.schedule_beyond(schedule) is not None
        for step in schedule.steps:
            if not schedule.made_at + timedelta(seconds=self.review_s) > step.deploy_at:
                return False
            beyond = beyond or (
                self.bounds is not None and self.bounds.step_beyond(step.replaces, step.plan) is not None
            )
            if beyond and not any(_is_same(step, each) for each in self.approved):
                return True
        return False


def review_time(workspace: Workspace, config: TopologyConfig, present: Present) -> ReviewTime | None:
    """None if nobody is asked: FORESCALE_REVIEW=false, shadow mode, or planning.review_s of 0."""
    planning = config.planning
    if not workspace.settings.review or planning.shadow or planning.review_s == 0:
        return None
    bounds = None if planning.auto_approve is None else planning.auto_approve.bounds
    return ReviewTime(planning.review_s, bounds, [each for each in present.announced if each.approved])


def waits_for_review(sooner: ScalingSchedule, later: ScalingSchedule) -> bool:
    """Whether the schedule that leaves time for a review keeps the budget, or misses no more than the other."""
    kept = later.allowed_minutes is not None and later.violation_minutes <= later.allowed_minutes
    return kept or later.violation_minutes <= sooner.violation_minutes + NEARLY_MINUTES


def _is_same(step: ScheduledStep, announced: Announced) -> bool:
    """Whether approval of the announced turn is taken over by the step (`approvals.inherit`)."""
    stop_s = step.in_place_at.timestamp() - step.downtime_s - step.catch_up_s
    return step.plan.parallelism == announced.plan and abs(stop_s - announced.stop_s) <= SAME_WITHIN.total_seconds()
