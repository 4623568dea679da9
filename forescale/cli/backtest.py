"""`forescale forecast backtest`: what the whole method would have forecast for a trace, origin by origin."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from forecasting.arrivals.history import UTC_NAME
from forecasting.errors import CalendarError, ForecastError
from forecasting.events.calendar import EventCalendar
from forecasting.events.effects import without_outages
from forecasting.forecast import QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.local_time import zone
from forecasting.prediction_file import write_predictions
from forecasting.prequential import (
    Predicted,
    prequential,
    prequential_calendar,
    prequential_horizons_s,
    prequential_origins,
)
from forecasting.prequential_scores import prequential_scores
from forecasting.selection import DEPLOYED
from forecasting.terms import affordable_paths
from forecasting.trace_file import read_local_trace
from forescale.cli.forecast_run import horizon_text
from forescale.cli.installation import settings_of
from forescale.cli.output import AsJson, check_output, check_page, console, plain, say_json, table
from forescale.files.atomic import write_whole
from forescale.files.events import read_events_file
from forescale.files.events_section import event_calendar
from forescale.report.kit.wording import number

PATHS = 400
"""Sample paths of each forecast, as many as `forecast.paths` of a topology file by default."""
SEED = 7
"""The same trace has the same predictions."""


def backtest(
    context: typer.Context,
    trace: Annotated[Path, typer.Argument(help="CSV file with the columns timestamp and count.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Parquet file of all predictions; in the folder backtests of the home if absent."),
    ] = None,
    events: Annotated[
        Path | None, typer.Option("--events", help="YAML file with the section events of a topology file.")
    ] = None,
    timezone: Annotated[
        str,
        typer.Option(
            "--timezone",
            help="Time zone of its days and of times without an offset, an IANA name such as Europe/Berlin.",
        ),
    ] = UTC_NAME,
    origins: Annotated[
        int, typer.Option(min=1, max=10_000, help="Moments of forecasting, over the last two weeks.")
    ] = 28,
    prophet: Annotated[bool, typer.Option("--prophet", help="Let Prophet compete, at twice the cost.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a page (.html) with forecasts beside arrivals.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score forecasts of a trace against what followed.

    Each origin is forecast from earlier arrivals alone.
    """
    if out is None:
        out = settings_of(context).home / "backtests" / f"{trace.name.partition('.')[0] or 'trace'}.parquet"
        out.parent.mkdir(parents=True, exist_ok=True)
    check_output("--out", out, ForecastError)
    check_page(plot, ForecastError)
    read = read_local_trace(trace, _known_timezone(timezone))
    series = read.series
    if read.bare_times and series.timezone != UTC_NAME and not as_json:
        plain(f"{read.bare_times} rows of {trace} have no offset: read as times of {series.timezone}")
    calendar = EventCalendar()
    if events is not None:
        calendar = event_calendar(read_events_file(events), series.start, series.end).of_source(series.source)
        series = without_outages(series, calendar)
        if not calendar.events and not as_json:
            plain(f"no event of {events} concerns {series.source} between {series.start} and {series.end}")
    horizons_s = prequential_horizons_s(series)
    chosen = prequential_origins(series, origins, max(horizons_s))
    calendar = prequential_calendar(calendar, series, chosen)
    forecasters = all_forecasters(calendar, prophet=prophet)
    steps = max(horizons_s) // series.window_s
    refusals: dict[str, str] = {}
    told: list[Predicted] = []
    with console.status(f"replaying {trace}") as status:
        predicted = prequential(
            series,
            forecasters,
            chosen,
            horizons_s=horizons_s,
            quantiles=QUANTILES,
            paths=affordable_paths(PATHS, steps),
            seed=SEED,
            refusals=refusals,
            progress=None if as_json else status.update,
        )
        names = [*(forecaster.name for forecaster in forecasters), DEPLOYED]
        write_predictions(_collected(predicted, told, refusals), out, series, horizons_s, QUANTILES, names)
    spoke = {name for one in told for name in one.peak_per_s}
    refusals = {name: reason for name, reason in refusals.items() if name not in spoke}
    scores = prequential_scores(told, series, horizons_s, QUANTILES)
    if plot is not None:
        from forescale.report.forecasts.backtest_page import ReplayedTrace, render_backtest_page

        write_whole(
            render_backtest_page(ReplayedTrace(str(trace), series, horizons_s, QUANTILES, told, scores, refusals)), plot
        )
    if as_json:
        say_json(
            {
                "trace": str(trace),
                "window_s": series.window_s,
                "windows": series.counts.size,
                "origins": len(told),
                "predictions": str(out),
                "refusals": refusals,
                "scores": [asdict(score) for score in scores],
            }
            | ({"plot": str(plot)} if plot else {})
        )
        return
    for horizon_s in horizons_s:
        rows = [
            (s.candidate, s.origins, *(number(value) for value in (s.ratio_p95, s.ratio_p99, s.coverage, s.wape)))
            for s in scores
            if s.horizon_s == horizon_s
        ]
        columns = ["candidate", "origins", "p95 loss ratio", "p99 loss ratio", "p95 coverage", "WAPE of the median"]
        console.print(
            table(f"peak within {horizon_text(horizon_s)}, against the better of last day and week", columns, rows)
        )
    for name, reason in refusals.items():
        plain(f"{name}: {reason}")
    for name in {s.candidate: None for s in scores if not s.origins}:
        plain(f"{name}: – where the trace holds nothing so long before its origins")
    plain(f"predictions in {out}")
    if plot is not None:
        plain(f"drawn in {plot}")


def _known_timezone(name: str) -> str:
    """The name. Raises CalendarError naming the option, the value and the remedy."""
    try:
        return zone(name).key
    except CalendarError as error:
        raise CalendarError(f"--timezone: {error}") from None


def _collected(
    predicted: Iterator[Predicted], kept: list[Predicted], refusals: Mapping[str, str]
) -> Iterator[Predicted]:
    for one in predicted:
        kept.append(one)
        yield one
    if not kept:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
        raise ForecastError(f"no forecaster can forecast this trace: {reasons}")
