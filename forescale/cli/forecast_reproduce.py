"""`forescale forecast reproduce`: make the forecasts of an MLflow run again, and say whether they are the same."""

from typing import Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, console, plain, say_json


def reproduce(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Id of the MLflow run, see `forescale forecast`.")],
    as_json: AsJson = False,
) -> None:
    """Repeat an MLflow run's forecasts; exits with 1 if any differs.

    From its recorded history and model.
    """
    from forescale.jobs.reproduce import reproduce as reproduced

    with console.status(f"making the forecasts of run {run} again") as status:
        reproduction = reproduced(workspace_of(context), run, progress=None if as_json else status.update)
    if as_json:
        say_json(reproduction)
    else:
        for source, one in reproduction.sources.items():
            verdict = "the same" if one.same else f"NOT the same {one.cause}".rstrip()
            plain(f"{source}: {verdict} ({one.how}; {one.recorded[:16]} recorded, {one.again[:16] or '–'} now)")
        plain(f"history snapshot {reproduction.history_snapshot or '–'}; made by revision {reproduction.revision}")
    if not all(one.same for one in reproduction.sources.values()):
        raise typer.Exit(1)
