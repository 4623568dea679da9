"""The task that deploys a step. It waits without a worker while the job needs the instances that the step would remove,
or while another process deploys it.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator

from forescale.codec import handed_over, taken_over
from forescale.orchestration.clock_trigger import ClockReached
from forescale.settings import Settings

LOOK_AGAIN = timedelta(minutes=1)
"""Time until a waiting step is tried again: the guard runs once a minute."""


class DeployStep(BaseOperator):
    """Hands over the Deployment of a step that is due; fails and skips as `shown_outcome` does.

    A step that is withheld, or deployed by another process, is tried again each minute of the clock (FORESCALE_CLOCK)
    until it is deployed, called off or too late. That uses no retry: retries are for a cluster that does not answer.
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
        from forescale.orchestration.deploy_outcome import shown_outcome
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
