"""A step as one job hands it to the next. Apart from the job: a task that only waits for it loads none."""

from dataclasses import dataclass

from forescale.codec import Moment


@dataclass(frozen=True)
class StepToDeploy:
    """An approved step of the ledger."""

    step_id: str
    deploy_at: Moment
