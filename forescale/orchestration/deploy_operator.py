"""The tasks that wait for a step's time and deploy it, without holding a worker while they wait."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from forescale.codec import handed_over, taken_over
from forescale.orchestration.clock_trigger import ClockReached
from forescale.settings import Settings

if TYPE_CHECKING:
    from forescale.situation.workspace import Workspace
    from planner.deployment import Deployment

LOOK_AGAIN = timedelta(minutes=1)
"""Time until a waiting step is tried again: the guard runs once a minute."""


class DeployStep(BaseOperator):
    """Hands over the Deployment of a step that is due; fails and skips as `shown_outcome` does.

    A step that is withheld because the job needs the instances that it would remove, or that another process deploys,
    is tried again each minute of the clock (FORESCALE_CLOCK) until it is deployed, called off or too late. That uses no
    retry: retries are for a cluster that does not answer.
    step (templated): a StepToDeploy that was handed over.
    """

    template_fields: Sequence[str] = ("step",)

    def __init__(self, *, step: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def execute(self, context: Any) -> Any:
        return self.look_again(context)

    def look_again(self, context: Any, event: Any = None) -> Any:
        """Called by Airflow once the trigger fires."""
        from airflow.sdk.exceptions import TaskDeferred

        from forescale.jobs.step_to_deploy import StepToDeploy
        from forescale.situation.workspace import Workspace
        from planner.errors import DeploymentUnderWay, StepWithheld

        workspace = Workspace(Settings())
        try:
            return handed_over(shown_outcome(workspace, taken_over(StepToDeploy, self.step).step_id))
        except (StepWithheld, DeploymentUnderWay) as waits:
            self.log.info("%s", waits)
        moment = (workspace.clock.now() + LOOK_AGAIN).isoformat()
        trigger = ClockReached(
            moment, workspace.settings.clock, str(workspace.settings.clock_file.resolve()), resumes=True
        )
        raise TaskDeferred(trigger=trigger, method_name="look_again")


def shown_outcome(workspace: "Workspace", step_id: str) -> "Deployment":
    """Deploy a step that is due. Returns if the plan runs and is verified.

    Raises AirflowFailException if it was refused, undone or not approved: only a new schedule helps, not a retry.
    Raises StepWithheld if it waits, DeploymentUnderWay while another process deploys it, and AirflowSkipException if
    the step was vetoed, superseded or is too late.
    """
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    from forescale.jobs.deploy import deploy
    from forescale.report.kit.step_reasons import reason_words
    from planner.errors import DeploymentFailed, DeploymentUnderWay, PlanError, StepWithheld
    from planner.ledger.step_state import StepState

    try:
        outcome = deploy(workspace, step_id)
    except (StepWithheld, DeploymentUnderWay):
        raise
    except (DeploymentFailed, PlanError) as failure:
        raise AirflowFailException(str(failure)) from failure
    if outcome.state is not StepState.VERIFIED:
        step = workspace.ledger.step(step_id)
        raise AirflowSkipException(f"step {step_id} is {outcome.state}: {reason_words(step)}")
    return outcome


class WaitForClock(BaseOperator):
    """Succeeds when the clock (FORESCALE_CLOCK) shows the step's deploy time; at once if that is past.

    step (templated): a StepToDeploy that was handed over. Raises ValueError for a time without a zone.
    """

    template_fields: Sequence[str] = ("step",)

    def __init__(self, *, step: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def execute(self, context: Any) -> None:
        from forescale.jobs.step_to_deploy import StepToDeploy

        deploy_at = taken_over(StepToDeploy, self.step).deploy_at.isoformat()
        settings = Settings()
        trigger = ClockReached(deploy_at, settings.clock, str(settings.clock_file.resolve()))
        if trigger.remaining_s() <= 0:
            return
        self.log.info("Waiting for %s on the %s clock", deploy_at, settings.clock)
        # The trigger ends the task itself: no worker is needed to notice that the moment has come.
        self.defer(trigger=trigger, method_name="execute_complete")

    def execute_complete(self, context: Any, event: Any = None) -> None:
        """Airflow's hook after a trigger; does nothing."""
