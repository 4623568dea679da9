"""`forescale metrics`: forescale's own metrics for Prometheus."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.expected import EXPECTED
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, check_output, plain, say_json
from forescale.files.file_error import FileError
from forescale.files.topology import topology_files


def metrics(
    context: typer.Context,
    topologies: Annotated[
        list[str] | None, typer.Argument(help="Topology files, or their names; all in the folder if absent.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write instead, for node exporter's textfile collector: NAME.prom.")
    ] = None,
    push: Annotated[str | None, typer.Option(metavar="URL", help="Pushgateway to push to.")] = None,
    fleet: Annotated[Path | None, typer.Option(help="Fleet file, which is no topology file of the folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Metrics of forecasts, plans and deployments for Prometheus.

    Exits with 1 if a topology cannot be read.
    """
    from forescale.jobs.standings import named_standings
    from forescale.monitoring.exposition import openmetrics, push_metrics, samples, write_metrics

    check_output("--out", out, FileError)
    workspace = workspace_of(context)
    names = topologies or [path.stem for path in topology_files(workspace.settings.topologies, fleet)]
    known = named_standings(workspace, dict.fromkeys(names), EXPECTED)
    if out is not None:
        write_metrics(known, out)
    if push is not None:
        push_metrics(known, push)
    if as_json:
        say_json({"samples": [asdict(each) for each in samples(known)], "unread": known.lacking})
    elif out is not None or push is not None:
        plain(f"{len(known.known)} topologies reported" + (f" in {out}" if out is not None else ""))
    else:
        typer.echo(openmetrics(known), nl=False)
    for name, why in known.lacking.items():
        typer.echo(f"forescale: topology {name}: {why}", err=True)
    if known.lacking:
        raise typer.Exit(1)
