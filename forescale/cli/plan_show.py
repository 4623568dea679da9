"""`forescale plan show`: write the report of a decision again, with its outcomes so far."""

from typing import Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, plain, say_json


def show(
    context: typer.Context,
    schedule: Annotated[str, typer.Argument(help="Id of a schedule, see `forescale plan`.")],
    as_json: AsJson = False,
) -> None:
    """Write a schedule's page again, with the outcomes since.

    Logs it to MLflow.
    """
    from forescale.jobs.report import report as reported

    path = reported(workspace_of(context), schedule)
    if as_json:
        say_json({"schedule_id": schedule, "report": str(path)})
    else:
        plain(f"report: {path}")
