"""`forescale history`: build the arrival history, look at it, check it, and record sources that keep nothing."""

from typing import Annotated

import typer

from forescale.cli.history_check import check
from forescale.cli.history_record import record
from forescale.cli.history_show import show
from forescale.cli.history_snapshots import snapshots
from forescale.cli.output import AsJson, console, plain, say_json
from forescale.report.kit.wording import percent

app = typer.Typer(help="The arrival history of a topology.", no_args_is_help=True)


@app.command()
def build(
    topology: Annotated[str, typer.Argument(help="Topology file, or its name in the folder of topology files.")],
    start: Annotated[str | None, typer.Option(help="ISO time; from where the history ends if absent.")] = None,
    end: Annotated[str | None, typer.Option(help="ISO time; now if absent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read what came and keep it by window. An interval can be built again: it is replaced, never doubled."""
    from forescale.jobs.aggregate import aggregate

    with console.status(f"reading the arrivals of {topology}") as status:
        summary = aggregate(topology, start=start, end=end, progress=None if as_json else status.update)
    if as_json:
        say_json(summary)
        return
    plain(
        f"{summary['rows_read']:,} rows read, {summary['duplicates']:,} duplicates dropped, "
        f"{summary['kept']:,} events counted from {summary['start']} to {summary['end']} ({summary['measures']})"
    )
    unused = {"late": summary["late"], **summary["quarantined"]}
    if any(unused.values()):
        plain("not counted: " + ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in unused.items()))
    plain(
        f"windows: {summary['observed']:,} observed, {summary['partial']:,} partial, "
        f"{summary['throttled']:,} throttled, {summary['missing']:,} missing; {percent(summary['complete'])} observed"
    )
    for source in summary["sources_unknown"]:
        plain(f"nothing is known of source {source}: see whether it is named in the section arrivals as it is there")
    plain(f"snapshot {summary['snapshot']}")


app.command()(show)
app.command()(check)
app.command()(record)
app.command()(snapshots)
