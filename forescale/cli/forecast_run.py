"""`forescale forecast run`: forecast the peaks of a topology's sources."""

import typer

from forecasting.forecast import QUANTILES
from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, console, plain, say_json, table
from modeling.wording import rounded


def run(
    context: typer.Context,
    topology: TopologyName,
    as_json: AsJson = False,
) -> None:
    """Select and fit forecasters, and forecast; tracked in MLflow.

    Backtests them first, and keeps the forecast for `forescale plan`.
    """
    from forescale.jobs.forecast import forecast as forecasted

    with console.status(f"forecasting {topology}") as status:
        made = forecasted(workspace_of(context), topology, progress=None if as_json else status.update)
    if as_json:
        say_json(made)
        return
    for source, peaks in made.peaks_per_s.items():
        rows = [(horizon_text(horizon_s), *(rounded(rate, 4) for rate in rates)) for horizon_s, rates in peaks.items()]
        columns = ["within", *(f"p{quantile * 100:g}" for quantile in QUANTILES)]
        console.print(table(f"peak of {source}, events per s", columns, rows))
        for note in made.siblings.get(source, ()):
            plain(note)
        plain(f"MLflow run {made.run_ids[source]}")
        if source in made.reports:
            plain(f"page {made.reports[source]}")
    for source, cause in made.failures.items():
        plain(f"{source} is not forecast: {cause}")


def horizon_text(horizon_s: int) -> str:
    return f"{horizon_s / 3600:g} h" if horizon_s >= 3600 else f"{horizon_s / 60:g} min"
