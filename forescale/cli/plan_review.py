"""`forescale plan approve` and `veto`: the review of a schedule."""

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, plain, say_json

if TYPE_CHECKING:
    from forescale.situation.workspace import Workspace

ScheduleId = Annotated[str, typer.Argument(help="Id of a schedule, see `forescale plan`.")]
Why = Annotated[str, typer.Option(help="Kept in the ledger.")]


def approve(context: typer.Context, schedule: ScheduleId, why: Why = "", as_json: AsJson = False) -> None:
    """Approve the proposed steps of a schedule.

    `deploy due` deploys them; under Airflow answer its review instead.
    """
    _reviewed(workspace_of(context), schedule, approve=True, why=why, as_json=as_json)


def veto(context: typer.Context, schedule: ScheduleId, why: Why = "", as_json: AsJson = False) -> None:
    """Call off the steps of a schedule that have not begun."""
    _reviewed(workspace_of(context), schedule, approve=False, why=why, as_json=as_json)


def _reviewed(workspace: "Workspace", schedule: str, *, approve: bool, why: str, as_json: bool) -> None:
    from forescale.jobs.review import review

    reviewed = review(workspace, schedule, approve=approve, by=getpass.getuser(), why=why)
    if as_json:
        say_json(reviewed)
        return
    if not reviewed.steps:
        plain(f"schedule {schedule} keeps the running plan: it has no step to approve or veto")
    for step_id, state in reviewed.steps.items():
        plain(f"{step_id}: {state}")
