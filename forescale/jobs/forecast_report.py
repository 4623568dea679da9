"""The pages on forecasts: of each source what past ones were worth, and of all series what is riskiest."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.drift import Drift
from forecasting.errors import CalendarError, ForecastError, HistoryError, TrackingError
from forecasting.events.effects import without_outages
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forecasting.tracking.tracker import Tracker
from forescale.files.events_section import EventEntry, HolidaysEntry, event_calendar
from forescale.files.safe_name import safe_name
from forescale.files.topology import TopologyConfig, TopologyFileError, read_topology_file
from forescale.jobs.forecast_failures import read_failures
from forescale.report.decision.decision import ReportError
from forescale.report.forecasts.fleet_page import write_fleet_page
from forescale.report.forecasts.fleet_row import FleetRow, by_risk
from forescale.report.forecasts.forecast_page import write_forecast_page
from forescale.report.forecasts.forecast_report import ForecastReport, forecast_report
from forescale.report.kit.wording import moment
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, ledger_of, topology_config, tracker_of
from planner.ledger.entries import ForecastEntry
from planner.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

NEWEST, FEWEST = 300, 30
"""Forecasts of a source that make its record: of hourly ones twelve days, where sources are many at least one."""
MOST_READ = 15_000
"""Past forecasts that are read for all records together, about half a minute: more sources have shorter records."""
MOST_PAGES = 100
"""Pages that are written at once, of the riskiest sources: each is of some megabytes, with all that draws it."""
FLEET_PAGE = "forecasts.html"
_MOST_REFUSED = 3

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Series:
    """report: of the forecast in the folder, without its paths; None where there is none that could be shown."""

    row: FleetRow
    report: ForecastReport | None = None
    folder: Path = Path()


@dataclass(frozen=True)
class _Topology:
    """events: as its file announces them; none without a file."""

    name: str
    sources: tuple[str, ...]
    events: Sequence[HolidaysEntry | EventEntry] = ()


def forecast_reports(topologies: Sequence[str] = (), *, most_pages: int = MOST_PAGES) -> dict[str, Any]:
    """Write the pages of these topologies, or of all, those of the riskiest sources, and the page of all series:
    {"page", "topologies": {topology: {source: {"report", "cause", "alarms", "p95_per_s", "growth", "drifts"}}}}.

    topologies: files, or names in the folder of topology files. All are those that have a topology file or forecasts.
    What has no forecast has a cause instead of a report; beyond most_pages sources have none. Raises TopologyFileError
    for a topology that is named and has no file, OSError where a page cannot be written.
    """
    settings = Settings()
    configs = [topology_config(topology, settings) for topology in topologies]
    named = {config.topology: _topology(config) for config in configs}
    ledger, now = ledger_of(settings), clock_of(settings).now()
    known, broken = _known_topologies(settings, ledger)
    every = known | named
    newest = _newest(sum(len(topology.sources) for topology in every.values()))
    found = {name: _series_of(every[name], newest, settings, ledger, now) for name in sorted(every)}
    asked = {name: found[name] for name in named or found}
    written = _written([one for series in asked.values() for one in series.values()], most_pages, settings)
    rows = [_linked(one.row, settings) for series in found.values() for one in series.values()]
    page = write_fleet_page([*rows, *broken], now, settings.reports_dir / FLEET_PAGE)
    return {
        "page": str(page),
        "topologies": {
            name: {source: _told(one.row, written.get((name, source))) for source, one in sorted(of_topology.items())}
            for name, of_topology in asked.items()
        },
    }


def reports_after_forecast(topology: str) -> dict[str, str]:
    """The pages written after a topology was forecast, by source; fewer where they cannot be written.

    Never raises: a forecast that was made is worth more than its page.
    """
    try:
        told = forecast_reports([topology])["topologies"]
    except Exception:
        logger.warning("the pages on the forecasts of %s could not be written", topology, exc_info=True)
        return {}
    return {
        source: one["report"] for of_topology in told.values() for source, one in of_topology.items() if one["report"]
    }


def drift_of(topology: str, config: TopologyConfig | None = None) -> dict[str, tuple[Drift, ...]]:
    """Whether the forecasts of each source have drifted, per horizon; sources without a forecast are left out.

    topology: its file, or its name in the folder of topology files, read where config is None. Raises
    TopologyFileError.
    """
    settings = Settings()
    config = config or topology_config(topology, settings)
    now = clock_of(settings).now()
    topology_of = _topology(config)
    series = _series_of(topology_of, _newest(len(topology_of.sources)), settings, ledger_of(settings), now)
    return {source: one.report.drifts for source, one in series.items() if one.report is not None}


def _newest(sources: int) -> int:
    """How many forecasts of each source make its record, where there are so many sources."""
    return max(FEWEST, min(NEWEST, MOST_READ // max(1, sources)))


def _topology(config: TopologyConfig) -> _Topology:
    return _Topology(config.topology, tuple(config.as_topology().sources), tuple(config.events))


def _known_topologies(settings: Settings, ledger: Ledger) -> tuple[dict[str, _Topology], list[FleetRow]]:
    """Every topology by its name, and a row for each topology file that cannot be read."""
    known: dict[str, _Topology] = {}
    broken = []
    for path in sorted(settings.topologies.glob("*.yaml")):
        try:
            config = read_topology_file(path)
        except TopologyFileError as error:
            broken.append(FleetRow(path.stem, "all sources", cause=str(error)))
        else:
            known[config.topology] = _topology(config)
    for name in ledger.forecast_topologies():
        if name not in known:
            sources = {entry.source for entry in ledger.forecasts(name, limit=NEWEST)}
            known[name] = _Topology(name, tuple(sorted(sources)))
    return known, broken


def _series_of(
    topology: _Topology, newest: int, settings: Settings, ledger: Ledger, now: datetime
) -> dict[str, _Series]:
    """newest: how many forecasts of each source are looked at."""
    entries: dict[str, list[ForecastEntry]] = {}
    for entry in ledger.forecasts(topology.name, limit=newest * max(1, len(topology.sources))):
        entries.setdefault(entry.source, []).append(entry)
    history, lacking = _history(topology.name, settings)
    causes = read_failures(settings.forecasts_dir / topology.name)
    return {
        source: _series(
            topology.name,
            source,
            entries.get(source, [])[:newest],
            _known(history, source, topology.events, now),
            causes.get(source, lacking),
            now,
        )
        for source in topology.sources
    }


def _history(topology: str, settings: Settings) -> tuple[ArrivalHistory | None, str]:
    """The history, or why there is none."""
    try:
        return read_history(settings.history_dir, topology), ""
    except HistoryError as error:
        return None, str(error)


def _known(
    history: ArrivalHistory | None, source: str, events: Sequence[HolidaysEntry | EventEntry], now: datetime
) -> ArrivalSeries | None:
    """What is known of a source by now. An outage that was announced tells nothing of a forecast: it is left out."""
    if history is None or source not in history.series:
        return None
    whole = history.series[source]
    try:
        series = whole.between(whole.start, min(whole.end, now))
    except HistoryError:
        return None
    try:
        return without_outages(series, event_calendar(events, series.start, series.end).of_source(source))
    except CalendarError as error:
        logger.warning("the record of %s counts outages as well: %s", source, error)
        return series


def _series(
    topology: str,
    source: str,
    entries: Sequence[ForecastEntry],
    history: ArrivalSeries | None,
    failure: str,
    now: datetime,
) -> _Series:
    """entries: of the source, newest first. failure: why it could not be forecast the last time, empty where it was."""
    if not entries:
        cause = failure or f"it was never forecast; run `forescale forecast {topology}`"
        return _Series(FleetRow(topology, source, latest_per_s=_latest(history, None, now), cause=cause))
    try:
        newest = read_forecast(Path(entries[0].folder), with_paths=False)
        report = forecast_report([newest, *_readable(entries[1:])], history)
    except (ForecastError, HistoryError, ReportError) as error:
        return _Series(FleetRow(topology, source, entries[0].issued_at, cause=str(error)))
    over = newest.end <= now
    row = FleetRow(
        topology,
        source,
        newest.issued_at,
        _latest(history, newest, now),
        newest.quantiles,
        {} if over else newest.peak_per_s,
        {} if over else newest.forecaster,
        report.drifts,
        _cause(topology, newest, failure, over=over),
        f"{quote(topology)}/{quote(_file_name(source))}",
    )
    return _Series(row, replace(report, failure=failure), Path(entries[0].folder))


def _cause(topology: str, newest: Forecast, failure: str, *, over: bool) -> str:
    """Why the newest forecast is not what it should be; empty where it is."""
    if failure:
        return f"not forecast since {moment(newest.issued_at)} UTC: {failure}"
    return f"the newest forecast ended {moment(newest.end)} UTC; run `forescale forecast {topology}`" if over else ""


def _readable(entries: Sequence[ForecastEntry]) -> list[Forecast]:
    """Past forecasts without their paths; those that are gone are left out."""
    found = []
    for entry in entries:
        try:
            found.append(read_forecast(Path(entry.folder), with_paths=False))
        except ForecastError as error:
            logger.info("a past forecast is left out of the record: %s", error)
    return found


def _latest(history: ArrivalSeries | None, forecast: Forecast | None, now: datetime) -> Floats:
    """Rates of the last day, in the forecast's steps where the history can be put on them."""
    if history is None:
        return np.empty(0)
    try:
        series = history.resampled(forecast.step_s) if forecast else history
        return series.between(now - timedelta(days=1), now).rate_per_s()
    except HistoryError:
        return np.empty(0)


class _RunLinks:
    """Where the MLflow runs are; no longer asked for once MLflow has refused a few times, as each takes its time."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._refused = 0

    def of(self, forecast: Forecast) -> str:
        """The link to the forecast's run, empty without one."""
        if not forecast.run_id or self._refused >= _MOST_REFUSED:
            return ""
        try:
            return self._tracker.run_url(forecast.run_id)
        except TrackingError as error:
            self._refused += 1
            logger.warning("the page on the forecast of %s has no link to MLflow: %s", forecast.source, error)
            return ""


def _written(series: Sequence[_Series], most: int, settings: Settings) -> dict[tuple[str, str], Path]:
    """The pages of the riskiest sources, by topology and source."""
    links = _RunLinks(tracker_of(settings))
    shown = {(one.row.topology, one.row.source): one for one in series if one.report is not None}
    riskiest = by_risk(one.row for one in shown.values())[:most]
    return {(row.topology, row.source): _page(shown[row.topology, row.source], links, settings) for row in riskiest}


def _page(series: _Series, links: _RunLinks, settings: Settings) -> Path:
    assert series.report is not None
    forecast = series.report.forecast
    # The paths, which only the page needs, are large.
    with suppress(ForecastError):
        forecast = read_forecast(series.folder)
    report = replace(series.report, forecast=forecast, link=links.of(forecast))
    return write_forecast_page(report, settings.reports_dir / forecast.topology / _file_name(forecast.source))


def _linked(row: FleetRow, settings: Settings) -> FleetRow:
    """With the link to its page where there is one, if of before."""
    there = row.page and (settings.reports_dir / row.topology / _file_name(row.source)).exists()
    return row if there else replace(row, page="")


def _file_name(source: str) -> str:
    return f"forecast-{safe_name(source)}.html"


def _told(row: FleetRow, report: Path | None) -> dict[str, Any]:
    return {
        "report": str(report) if report else None,
        "cause": row.cause,
        "alarms": {str(drift.horizon_s): drift.reason for drift in row.alarms},
        "p95_per_s": {str(horizon_s): row.p95_per_s(horizon_s) for horizon_s in sorted(row.peak_per_s)},
        "growth": row.growth,
        "drifts": {str(drift.horizon_s): _of_drift(drift) for drift in row.drifts},
    }


def _of_drift(drift: Drift) -> dict[str, Any]:
    """Without what stands elsewhere; NaN where nothing tells."""
    return {
        "completed": drift.completed,
        "coverage": drift.coverage,
        "ratio_to_naive": drift.ratio_to_naive,
        "loss_ratio_to_backtest": drift.loss_ratio_to_backtest,
    }
