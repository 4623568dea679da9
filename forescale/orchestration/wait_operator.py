"""The task that waits for a moment on the installation's clock without holding a worker."""

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator

from forescale.codec import taken_over
from forescale.orchestration.clock_trigger import ClockReached
from forescale.settings import Settings


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
