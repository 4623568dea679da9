"""The task that waits for a moment on the installation's clock without holding a worker."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from airflow.sdk import BaseOperator

from forescale.orchestration.clock_trigger import ClockReached
from forescale.settings import Settings
from forescale.wiring.clock import clock_of_kind


class WaitForClock(BaseOperator):
    """Succeeds when the clock (FORESCALE_CLOCK) shows the step's deploy time; at once where that is past.

    step (templated): {"deploy_at": ISO time with a zone}. Raises ValueError for a time without a zone.
    """

    template_fields: Sequence[str] = ("step",)

    def __init__(self, *, step: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def execute(self, context: Any) -> None:
        deploy_at = self.step["deploy_at"]
        settings = Settings()
        moment = datetime.fromisoformat(deploy_at)
        if moment.tzinfo is None:
            raise ValueError(f"deploy time {deploy_at} has no time zone; give it like 2026-03-01T06:45:00+00:00")
        if clock_of_kind(settings.clock, settings.clock_file).now() >= moment:
            return
        self.log.info("Waiting for %s on the %s clock", deploy_at, settings.clock)
        # The trigger ends the task by itself: no worker is needed to find out that the moment has come.
        self.defer(
            trigger=ClockReached(moment.isoformat(), settings.clock, str(settings.clock_file.resolve())),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Any, event: Any = None) -> None:
        """Airflow's name for what follows a trigger; nothing does."""
