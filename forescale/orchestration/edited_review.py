"""The answer "Edit" to a review: the edited schedule is recorded, costed, and reviewed in another run of `plan`."""

from typing import TYPE_CHECKING

from forescale.files.shown import shown
from forescale.files.typed_plan import moment_of, parallelism_of
from forescale.orchestration.dag_runs import create_run
from forescale.orchestration.overriding import check_may_override
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.edit import EditedSchedule
    from forescale.orchestration.review_operator import TypedEdit
    from forescale.situation.workspace import Workspace


def edited(workspace: "Workspace", schedule_id: str, typed: "TypedEdit", *, by: str, why: str) -> "EditedSchedule":
    """Record the edited schedule, proposed. Raises PlanError, ModelError or LedgerError for an impossible edit."""
    from forescale.jobs.edit import edit

    step, plan, at = typed.step.strip(), typed.plan.strip(), typed.at.strip()
    if not step:
        raise PlanError("no step is named to edit; give its number, counted from 1, or its id")
    if not (plan or at):
        raise PlanError("nothing to edit; give a plan (OPERATOR=INSTANCES) or a time")
    if override := _overrides(typed.override.strip()):
        check_may_override(workspace.settings, by)
    return edit(
        workspace,
        f"{schedule_id}-{int(step)}" if step.isdecimal() else step,
        parallelism=parallelism_of("plan", plan),
        deploy_at=moment_of("at", at) if at else None,
        by=by,
        why=why,
        override=override,
    )


def _overrides(typed: str) -> bool:
    """Raises PlanError for any answer but yes and an empty one."""
    if typed.lower() not in ("", "yes", "no"):
        raise PlanError(f"Override is {shown(typed)}; give yes, or leave it empty")
    return typed.lower() == "yes"


def ask_again(edited_schedule: "EditedSchedule") -> str:
    """Start a run of `plan`, which finds the edited schedule as the newest for the same forecasts and asks for its
    review; a newer forecast replaces it. Returns the id of the run, one per edited schedule. Must run inside an Airflow
    task.
    """
    return create_run("plan", f"edited-{edited_schedule.schedule_id}", {"topology": edited_schedule.topology})
