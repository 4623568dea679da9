"""Errors between a forecast and a running plan. Each message names the place, the value and the remedy."""

from datetime import datetime


class PlanError(ValueError):
    """A schedule cannot be made from the inputs."""


class StepWithheld(PlanError):  # noqa: N818 (not an error: it is retried)
    """A due step waits because the job needs what the step would take away. Try again in a minute."""


class ClusterError(RuntimeError):
    """The cluster cannot be reached, or its answer cannot be interpreted."""


class NotMeasuredYetError(ClusterError):
    """The plan runs since running_since, too short to have been measured. Try again in seconds."""

    def __init__(self, message: str, running_since: datetime) -> None:
        super().__init__(message)
        self.running_since = running_since


class NotMeasurableError(ClusterError):
    """A cluster of this kind never tells how busy operators are."""


class LedgerError(RuntimeError):
    """The ledger refuses a change: an unknown row, or a step in another state than the change assumes."""


class DeploymentFailed(RuntimeError):  # noqa: N818 (an outcome; the call itself is correct)
    """The plan was refused or did not hold, and the previous one runs again. The message says why."""


class DeploymentUnderWay(PlanError):  # noqa: N818 (not an error: it is retried)
    """Another process on this machine is deploying the step. Check the result of that."""


class DamagedRowError(LedgerError):
    """A row whose content the ledger cannot have written; other rows stay readable."""
