"""How the end of a deployment shows in Airflow: verified is green, undone is red, not done is skipped; all say why."""

from forescale.situation.workspace import Workspace
from planner.deployment import Deployment
from planner.ledger.step_state import StepState


def shown_outcome(workspace: Workspace, step_id: str) -> Deployment:
    """Deploy a step that is due. Returns if the plan runs and is verified.

    Raises AirflowFailException if it was refused, undone or not approved: only a new schedule helps, not a retry.
    Raises StepWithheld if it waits, DeploymentUnderWay while another process deploys it, and AirflowSkipException if
    the step was vetoed, superseded or is too late.
    """
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    from forescale.jobs.deploy import deploy
    from planner.errors import DeploymentFailed, DeploymentUnderWay, PlanError, StepWithheld

    try:
        outcome = deploy(workspace, step_id)
    except (StepWithheld, DeploymentUnderWay):
        raise
    except (DeploymentFailed, PlanError) as failure:
        raise AirflowFailException(str(failure)) from failure
    if outcome.state is not StepState.VERIFIED:
        raise AirflowSkipException(f"step {step_id} is {outcome.state}: {outcome.detail}")
    return outcome
