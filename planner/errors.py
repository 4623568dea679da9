"""What can go wrong between a forecast and a running plan. Each message names the place, the value and the remedy."""


class PlanError(ValueError):
    """A schedule cannot be made from what was given."""


class StepWithheld(PlanError):  # noqa: N818 (nothing is wrong: it is tried again)
    """A due step waits, because the job needs what it would take away. Try it again in a minute."""


class ClusterError(RuntimeError):
    """The cluster cannot be reached, or answers something that cannot be understood."""


class LedgerError(RuntimeError):
    """The ledger refuses a change: an unknown row, or a step that is not in the state the change assumes."""


class DeploymentFailed(RuntimeError):  # noqa: N818 (it is what happened, and nothing is wrong with the call)
    """The plan was refused or did not hold, and the one before it runs again. The message says why."""


class DeploymentUnderWay(PlanError):  # noqa: N818 (nothing is wrong: it is tried again)
    """Another process of this machine deploys the step. See how that ends."""


class DamagedRowError(LedgerError):
    """A row of the ledger that the ledger has not written so; all others can be read."""
