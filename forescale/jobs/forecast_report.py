"""The pages on forecasts: per source the scores of past ones, and an overview with the riskiest series first."""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import ForecastDrift
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forecasting.outlook import SeriesOutlook, by_risk
from forescale.codec import handed_over, taken_over
from forescale.files.atomic import write_whole
from forescale.files.safe_name import safe_name
from forescale.files.topology import TopologyConfig
from forescale.jobs.past_forecasts import (
    MAX_OF_SOURCE,
    ForecastTopology,
    PastForecasts,
    forecasts_of_source,
    past_forecasts,
)
from forescale.report.forecasts.fleet_page import render_fleet_page
from forescale.report.forecasts.forecast_page import render_forecast_page
from forescale.report.forecasts.forecast_report import ForecastReport
from forescale.report.kit.error import ReportError
from forescale.report.kit.wording import moment
from forescale.situation.workspace import Workspace
from modeling.arrays import Floats

logger = logging.getLogger(__name__)

MAX_PAGES = 100
"""Pages written at once, of the riskiest sources: each has some megabytes, with its scripts."""
FLEET_PAGE = "forecasts.html"
TOPOLOGY_PAGES = "forecasts.json"


@dataclass(frozen=True)
class SourcePage:
    """report: None if no page was written. cause: what is wrong with the newest forecast, empty if nothing is. alarms:
    reasons by horizon; p95_per_s: of the peak, by horizon; growth: of the coming day over the last one.
    """

    report: Path | None
    cause: str
    alarms: Mapping[int, str]
    p95_per_s: Mapping[int, float]
    growth: float
    drifts: Mapping[int, ForecastDrift]


@dataclass(frozen=True)
class TopologyPages:
    """The values stored beside the pages. sources: by name."""

    sources: Mapping[str, SourcePage]


@dataclass(frozen=True)
class ForecastPages:
    """page: of all series. topologies: by topology and source."""

    page: Path
    topologies: Mapping[str, Mapping[str, SourcePage]]


@dataclass(frozen=True)
class _Series:
    """report: of the forecast in the folder, without its paths; None if there is none to show."""

    row: SeriesOutlook
    report: ForecastReport | None = None
    folder: Path = Path()


def forecast_reports(
    workspace: Workspace, topologies: Sequence[str] = (), *, max_pages: int = MAX_PAGES
) -> ForecastPages:
    """Write the pages of the riskiest sources of these topologies, or of all, and the page of all series.

    topologies: files, or names in the folder of topology files. By default all that have a topology file or forecasts.
    A source without a forecast has a cause instead of a report; sources beyond max_pages have none. Raises FileError
    for a named topology without a file, OSError if a page cannot be written.
    """
    configs = [workspace.config(topology) for topology in topologies]
    named = {config.topology: ForecastTopology.of(config) for config in configs}
    ledger, now = workspace.ledger, workspace.clock.now()
    known, broken = _known_topologies(workspace)
    every = known | named
    newest = forecasts_of_source(sum(len(topology.sources) for topology in every.values()))
    found = {
        name: {
            source: _series(name, source, past, now)
            for source, past in past_forecasts(workspace, every[name], ledger, now, newest).items()
        }
        for name in sorted(every)
    }
    asked = {name: found[name] for name in named or found}
    written = _written(workspace, [one for series in asked.values() for one in series.values()], max_pages)
    rows = [one.row for series in found.values() for one in series.values()]
    page = write_whole(
        render_fleet_page([*rows, *broken], now, _links(workspace, rows)), workspace.settings.reports_dir / FLEET_PAGE
    )
    pages = {
        name: {source: _source_page(one.row, written.get((name, source))) for source, one in sorted(series.items())}
        for name, series in asked.items()
    }
    for name, sources in pages.items():
        body = handed_over(TopologyPages(sources))
        write_whole(json.dumps(body), workspace.settings.reports_dir / name / TOPOLOGY_PAGES)
    return ForecastPages(page, pages)


def read_forecast_pages(workspace: Workspace, topology: str) -> Mapping[str, SourcePage]:
    """The values of a known topology's pages when they were last written, by source; empty if they never were, or were
    by another release.
    """
    try:
        body = json.loads((workspace.settings.reports_dir / topology / TOPOLOGY_PAGES).read_text(encoding="utf-8"))
        return taken_over(TopologyPages, body).sources if isinstance(body, dict) else {}
    except (OSError, ValueError):
        return {}


def forecast_page_file(workspace: Workspace, topology: str, source: str) -> Path:
    """Path of the page on a source of a known topology."""
    return workspace.settings.reports_dir / topology / _file_name(source)


def reports_after_forecast(workspace: Workspace, topology: str) -> dict[str, Path]:
    """Write the pages after a forecast; returns them by source, without those that failed.

    Never raises: a failing page must not fail the forecast.
    """
    try:
        topologies = forecast_reports(workspace, [topology]).topologies
    except Exception:
        logger.warning("the pages on the forecasts of %s could not be written", topology, exc_info=True)
        return {}
    return {source: one.report for pages in topologies.values() for source, one in pages.items() if one.report}


def _known_topologies(workspace: Workspace) -> tuple[dict[str, ForecastTopology], list[SeriesOutlook]]:
    """Every topology by name, and a row for each topology file that cannot be read."""
    known: dict[str, ForecastTopology] = {}
    broken = []
    for name, config in workspace.topologies.items():
        if isinstance(config, TopologyConfig):
            known[name] = ForecastTopology.of(config)
            continue
        if config is not None:
            broken.append(SeriesOutlook(name, "all sources", cause=str(config)))
        if sources := {entry.source for entry in workspace.ledger.forecasts(name, limit=MAX_OF_SOURCE)}:
            known[name] = ForecastTopology(name, tuple(sorted(sources)))
    return known, broken


def _series(topology: str, source: str, past: PastForecasts, now: datetime) -> _Series:
    if not past.entries:
        cause = past.failure or f"it was never forecast; run `forescale forecast {topology}`"
        return _Series(SeriesOutlook(topology, source, latest_per_s=_latest(past.history, None, now), cause=cause))
    issued_at, folder = past.entries[0].issued_at, Path(past.entries[0].folder)
    if past.judged is None:
        return _Series(SeriesOutlook(topology, source, issued_at, cause=past.error))
    newest = past.judged.newest
    try:
        report = ForecastReport(**vars(past.judged), failure=past.failure)
    except ReportError as error:
        return _Series(SeriesOutlook(topology, source, issued_at, cause=str(error)))
    over = newest.end <= now
    row = SeriesOutlook(
        topology,
        source,
        newest.issued_at,
        _latest(past.history, newest, now),
        newest.quantiles,
        {} if over else newest.peak_per_s,
        {} if over else newest.forecaster,
        report.drifts,
        _cause(topology, newest, past.failure, over=over),
    )
    return _Series(row, report, folder)


def _cause(topology: str, newest: Forecast, failure: str, *, over: bool) -> str:
    """What is wrong with the newest forecast; empty if nothing is."""
    if failure:
        return f"not forecast since {moment(newest.issued_at)} UTC: {failure}"
    return f"the newest forecast ended {moment(newest.end)} UTC; run `forescale forecast {topology}`" if over else ""


def _latest(history: ArrivalSeries | None, forecast: Forecast | None, now: datetime) -> Floats:
    """Rates of the last day, in the forecast's steps if the history's windows fit them."""
    if history is None:
        return np.empty(0)
    try:
        series = history.resampled(forecast.step_s) if forecast else history
        return series.between(now - timedelta(days=1), now).rate_per_s()
    except HistoryError:
        return np.empty(0)


def _written(workspace: Workspace, series: Sequence[_Series], max_pages: int) -> dict[tuple[str, str], Path]:
    """The pages of the riskiest sources, by topology and source."""
    shown = {(one.row.topology, one.row.source): one for one in series if one.report is not None}
    riskiest = by_risk(one.row for one in shown.values())[:max_pages]
    return {(row.topology, row.source): _page(workspace, shown[row.topology, row.source]) for row in riskiest}


def _page(workspace: Workspace, series: _Series) -> Path:
    assert series.report is not None
    forecast = series.report.newest
    # Sample paths are large, and only the page needs them.
    with suppress(ForecastError):
        forecast = read_forecast(series.folder)
    link = workspace.tracker.run_url(forecast.run_id) if forecast.run_id else ""
    report = replace(series.report, newest=forecast, link=link)
    return write_whole(render_forecast_page(report), forecast_page_file(workspace, forecast.topology, forecast.source))


def _links(workspace: Workspace, rows: Sequence[SeriesOutlook]) -> dict[tuple[str, str], str]:
    """Links from the page of all series to existing pages, also older ones; none for a series without a forecast."""
    return {
        (row.topology, row.source): f"{quote(row.topology)}/{quote(_file_name(row.source))}"
        for row in rows
        if row.quantiles and forecast_page_file(workspace, row.topology, row.source).exists()
    }


def _file_name(source: str) -> str:
    return f"forecast-{safe_name(source)}.html"


def _source_page(row: SeriesOutlook, report: Path | None) -> SourcePage:
    return SourcePage(
        report,
        row.cause,
        {drift.horizon_s: drift.reason for drift in row.alarms},
        {horizon_s: row.p95_per_s(horizon_s) for horizon_s in sorted(row.peak_per_s)},
        row.growth,
        {drift.horizon_s: drift for drift in row.drifts},
    )
