"""`forescale history`: build the arrival history from raw events, and look at it."""

from datetime import timedelta
from typing import Annotated

import numpy as np
import typer

from forecasting.arrivals.store import read_history
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.settings import Settings

app = typer.Typer(help="The arrival history of a topology.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Topology file, or its name in the folder of topology files.")]


@app.command()
def build(
    topology: Name,
    start: Annotated[str | None, typer.Option(help="ISO time; from the first event on if absent.")] = None,
    end: Annotated[str | None, typer.Option(help="ISO time; now if absent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count raw events per window with Spark. An interval can be built again: it is replaced, never doubled."""
    from forescale.jobs.aggregate import aggregate

    with console.status(f"counting the events of {topology} with Spark"):
        summary = aggregate(topology, start=start, end=end)
    if as_json:
        say_json(summary)
        return
    plain(
        f"{summary['rows_read']:,} rows read, {summary['duplicates']:,} duplicates dropped, "
        f"{summary['kept']:,} events counted from {summary['start']} to {summary['end']}"
    )
    plain(
        f"windows: {summary['observed']:,} observed, {summary['partial']:,} partial, "
        f"{summary['throttled']:,} throttled, {summary['missing']:,} missing"
    )


@app.command()
def show(
    topology: Name,
    days: Annotated[float, typer.Option(help="How many of the last days.")] = 7.0,
    as_json: AsJson = False,
) -> None:
    """The arrivals of the last days, by source and day; what is missing is said."""
    from forescale.wiring import topology_config

    settings = Settings()
    config = topology_config(topology, settings)
    history = read_history(settings.history_dir, config.topology)
    rows = []
    for source, whole in history.series.items():
        series = whole.between(max(whole.start, whole.end - timedelta(days=days)), whole.end)
        dates = series.window_starts().astype("datetime64[D]")
        for date in np.unique(dates):
            counts = series.counts[dates == date]
            known = counts[~np.isnan(counts)]
            peak_per_s = float(known.max()) / series.window_s if known.size else None
            rows.append((source, str(date), int(known.sum()), peak_per_s, int(np.isnan(counts).sum())))
    columns = ["source", "day (UTC)", "arrivals", "peak per s", "windows missing"]
    if as_json:
        say_json({"topology": config.topology, "days": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    shown = [(s, d, f"{n:,}", "–" if p is None else f"{p:.3g}", f"{m:,}") for s, d, n, p, m in rows]
    console.print(table(f"arrivals of {config.topology}", columns, shown))
