"""The answer "Edit" to a review: the edited schedule is recorded, costed, and reviewed in another run of `plan`."""

from typing import TYPE_CHECKING

from forescale.files.shown import shown
from forescale.files.typed_plan import moment_of, parallelism_of
from forescale.orchestration.dag_runs import create_run
from forescale.orchestration.deploy_request import check_may_override
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.proposed_schedule import ProposedSchedule
    from forescale.orchestration.review_operator import TypedEdit
    from forescale.situation.workspace import Workspace


def edited(workspace: "Workspace", schedule_id: str, typed: "TypedEdit", *, by: str, why: str) -> "ProposedSchedule":
    """Record the edited schedule, proposed. A time without an offset is of the zone in which the review shows times.
    Raises PlanError, ModelError or LedgerError for an impossible edit.
    """
    from forescale.jobs.edit import edit
    from forescale.report.kit.local_time import LocalTime

    step, plan, at = typed.step, typed.plan, typed.at
    if not step:
        raise PlanError(
            "Edit is empty; give the step's number and its plan or time, like '2 count=8 at 2026-03-02 08:30'"
        )
    if not (plan or at):
        raise PlanError(f"Edit names step {shown(step)} alone; give it a plan (OPERATOR=INSTANCES) or a time (at TIME)")
    if typed.override:
        check_may_override(workspace.settings, by)
    config = workspace.config(workspace.ledger.schedule(schedule_id).schedule.topology)
    return edit(
        workspace,
        f"{schedule_id}-{int(step)}" if step.isdecimal() else step,
        parallelism=parallelism_of("plan", plan),
        deploy_at=moment_of("at", at, LocalTime(config.local_timezone).zone) if at else None,
        by=by,
        why=why,
        override=typed.override,
    )


def ask_again(edited_schedule: "ProposedSchedule") -> str:
    """Start a run of `plan`, which finds the edited schedule as the newest for the same forecasts and asks for its
    review; a newer forecast replaces it. Returns the id of the run, one per edited schedule. Must run inside an Airflow
    task.
    """
    return create_run("plan", f"edited-{edited_schedule.schedule_id}", {"topology": edited_schedule.topology})
