"""`forescale notify`: messages about new incidents."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.expected import EXPECTED
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, plain, say_json
from forescale.files.topology import topology_files


def notify(
    context: typer.Context,
    topologies: Annotated[
        list[str] | None, typer.Argument(help="Topology files, or their names; all in the folder if absent.")
    ] = None,
    due: Annotated[bool, typer.Option("--due", help="Send due messages; without it they are only listed.")] = False,
    fleet: Annotated[Path | None, typer.Option(help="Fleet file, which is no topology file of the folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send new incidents to the services of FORESCALE_NOTIFY_URLS.

    Exits with 1 if one refuses.
    """
    from forescale.monitoring.errors import NotifyError
    from forescale.monitoring.notify import notify as notified

    workspace = workspace_of(context)
    if workspace.settings.notify_urls is None:
        raise NotifyError("no service to send messages to; set FORESCALE_NOTIFY_URLS to Apprise URLs")
    names = topologies or [path.stem for path in topology_files(workspace.settings.topologies, fleet)]
    done = notified(workspace, dict.fromkeys(names), EXPECTED, send=due)
    if as_json:
        say_json(asdict(done))
    else:
        for title in done.told:
            plain(f"sent: {title}")
        for title in done.due:
            plain(f"due: {title}")
        if not done.told and not done.due:
            plain("nothing to send")
    for number in done.refused:
        typer.echo(
            f"forescale: service {number} of FORESCALE_NOTIFY_URLS refused a message; it is tried again", err=True
        )
    for name, why in done.unread.items():
        typer.echo(f"forescale: topology {name}: {why}", err=True)
    if done.refused or done.unread:
        raise typer.Exit(1)
