"""`forescale forecast pages`: write pages on forecasts and show whether they still perform as in their backtests."""

from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.report.kit.wording import duration, number, percent, visible

if TYPE_CHECKING:
    from forescale.jobs.forecast_report import SourcePage


def pages(
    context: typer.Context,
    topology: Annotated[
        list[str] | None, typer.Argument(help="Topology files, or names in their folder; all without one.")
    ] = None,
    most_pages: Annotated[int, typer.Option(min=0, help="Pages of sources to write, the riskiest first.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Write pages of all sources' forecasts and their past scores."""
    from forescale.jobs.forecast_report import forecast_reports

    with console.status("reading forecasts"):
        made = forecast_reports(workspace_of(context), topology or (), max_pages=most_pages)
    if as_json:
        say_json(made)
        return
    rows = [
        (visible(f"{name} / {source}"), *_cells(one))
        for name, sources in made.topologies.items()
        for source, one in sources.items()
    ]
    columns = ["series", "p95 of the peak", "p95 held", "loss / naive", "cause or alarm"]
    console.print(table("forecasts, events per s", columns, rows))
    for sources in made.topologies.values():
        for one in sources.values():
            if one.report:
                plain(f"page {one.report}")
    plain(f"all series: {made.page}")


def _cells(one: "SourcePage") -> tuple[str, str, str, str]:
    """The peak of the longest horizon, and the scores of the longest horizon that has been judged."""
    peaks = one.p95_per_s
    peak = f"{number(peaks[max(peaks)])} within {duration(max(peaks))}" if peaks else "–"
    judged = [horizon_s for horizon_s, drift in one.drifts.items() if drift.completed]
    held = loss = "–"
    if judged:
        longest_s = max(judged)
        drift = one.drifts[longest_s]
        held = f"{percent(drift.coverage)} of {drift.completed:,} × {duration(longest_s)}"
        loss = number(drift.ratio_to_naive)
    within = ", ".join(duration(horizon_s) for horizon_s in one.alarms)
    return peak, held, loss, one.cause or (f"drift within {within}" if within else "–")
