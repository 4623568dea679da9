"""The step that a run of the DAG `deploy` is about: one of a schedule, or one requested in the form."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param

from forecasting.arrivals.grid import typed_moment
from forescale.files.shown import shown
from forescale.files.typed_plan import parallelism_of
from forescale.settings import Settings
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.step_to_deploy import StepToDeploy
    from forescale.situation.workspace import Workspace

ISO_TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$"

TYPED_PLAN = r"^\s*[^=,]+=\s*[1-9][0-9]*\s*(,\s*[^=,]+=\s*[1-9][0-9]*\s*)*$"

FORM = {
    "step_id": Param(
        None,
        type=["null", "string"],
        maxLength=80,
        title="Step",
        description="A step of a schedule in the ledger. Leave empty to ask for a plan of your own below.",
    ),
    "topology": Param(
        None, type=["null", "string"], pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", maxLength=80, title="Topology"
    ),
    "parallelism": Param(
        None,
        # Airflow draws the field of the first type: its editor of JSON closes quotes that are closed already.
        type=["null", "string", "object"],
        pattern=TYPED_PLAN,
        maxLength=2000,
        minProperties=1,
        additionalProperties={"type": "integer", "minimum": 1},
        title="Parallelism",
        description="Instances per operator, like ingest=1,count=2; others keep their parallelism.",
    ),
    "when": Param(
        None,
        type=["null", "string"],
        format="date-time",
        pattern=ISO_TIME,
        title="When",
        description="When to deploy this plan, with a time zone. Empty: at once.",
    ),
    "override": Param(
        False,
        type="boolean",
        title="Override",
        description="Pass limits of the topology file for the reason in Why. For FORESCALE_OVERRIDE_USERS alone.",
    ),
    "why": Param(None, type=["null", "string"], maxLength=500, title="Why", description="Kept in the ledger."),
}
"""Fields of the form; Airflow refuses a run whose fields do not fit their schema."""


def requested_step(workspace: "Workspace", form: Mapping[str, Any], *, run_id: str, by: str) -> "StepToDeploy":
    """The requested step, as in the ledger.

    A hand-made plan becomes an approved step in the ledger, once per run_id however often the task runs.
    Raises ValueError if the form names both a step and a plan, or neither, or a step made in shadow mode, or if the
    plan is invalid or exceeds limits; LedgerError for an unknown step.
    """
    if form["step_id"]:
        from forescale.jobs.step_to_deploy import StepToDeploy
        from planner.deployment import refuse_shadow

        if any(form[name] for name in FORM if name != "step_id"):
            raise ValueError(f"the form names step {form['step_id']} and a plan as well; give one of them")
        step = workspace.ledger.step(form["step_id"])
        refuse_shadow(step)
        return StepToDeploy(step.id, step.deploy_at)
    if not (form["topology"] and form["parallelism"]):
        raise ValueError("the form names nothing to deploy; give a step_id, or a topology and its parallelism")
    from forescale.jobs.requested_deployment import request_deployment

    asked = form["parallelism"]
    if form["override"]:
        check_may_override(workspace.settings, by)
    return request_deployment(
        workspace,
        form["topology"],
        parallelism=parallelism_of("Parallelism", asked) if isinstance(asked, str) else asked,
        deploy_at=typed_moment(form["when"], "deploy time", ValueError) if form["when"] else None,
        by=by,
        request_id=run_id,
        why=form["why"] or "",
        override=form["override"],
    )


def check_may_override(settings: Settings, user: str) -> None:
    """Raises PlanError for a user not in FORESCALE_OVERRIDE_USERS: a task learns the user who started its run or
    answered, not the user's role.
    """
    if user not in {name.strip() for name in settings.override_users.split(",") if name.strip()}:
        raise PlanError(
            f"user {shown(user)} may not override limits; ask an administrator to do it (FORESCALE_OVERRIDE_USERS "
            "names those who may), or give another plan or time"
        )
