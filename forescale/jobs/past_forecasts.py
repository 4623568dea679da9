"""Past forecasts of each source of a topology, from the ledger and the files, judged by the history."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.bounded_file import bounded_text
from forecasting.drift import ForecastDrift
from forecasting.errors import CalendarError, ForecastError, HistoryError
from forecasting.events.effects import without_outages
from forecasting.forecast import Forecast
from forecasting.judged import JudgedForecasts, judged_forecasts
from forescale.files.atomic import write_whole
from forescale.files.events_section import EventEntry, HolidaysEntry, event_calendar
from forescale.files.topology import TopologyConfig
from forescale.jobs.newest_forecasts import recorded_forecast
from forescale.situation.workspace import Workspace
from planner.ledger.entries import ForecastEntry
from planner.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

MAX_OF_SOURCE, MIN_OF_SOURCE = 300, 30
"""Bounds on the forecasts in a source's record: twelve days of hourly ones; at least 30 even with many sources."""
MAX_OF_ALL = 15_000
"""Past forecasts read for all records together, about half a minute: with more sources, records are shorter."""

FILE = "failures.json"


@dataclass(frozen=True)
class ForecastTopology:
    """events, timezones (by source): from its file; empty without a file."""

    name: str
    sources: tuple[str, ...]
    events: Sequence[HolidaysEntry | EventEntry] = ()
    timezones: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: TopologyConfig) -> "ForecastTopology":
        return cls(config.topology, tuple(config.as_topology().sources), tuple(config.events), config.timezones)


@dataclass(frozen=True)
class PastForecasts:
    """Past forecasts of one source. entries: newest first. judged: None if there is none, or none that can be read
    (error says why). history: known by now. failure: why the source could not be forecast the last time, empty if it
    could.
    """

    entries: Sequence[ForecastEntry]
    history: ArrivalSeries | None
    failure: str
    judged: JudgedForecasts | None = None
    error: str = ""


def drifts_by_source(workspace: Workspace, config: TopologyConfig) -> dict[str, tuple[ForecastDrift, ...]]:
    """Whether the forecasts of each source have drifted, per horizon; sources without a forecast are left out."""
    past = past_forecasts(
        workspace,
        ForecastTopology.of(config),
        workspace.ledger,
        workspace.clock.now(),
        forecasts_of_source(len(config.as_topology().sources)),
    )
    return {source: one.judged.drifts for source, one in past.items() if one.judged is not None}


def forecasts_of_source(sources: int) -> int:
    """Number of forecasts in each source's record, given the number of sources."""
    return max(MIN_OF_SOURCE, min(MAX_OF_SOURCE, MAX_OF_ALL // max(1, sources)))


def past_forecasts(
    workspace: Workspace, topology: ForecastTopology, ledger: Ledger, now: datetime, newest: int
) -> dict[str, PastForecasts]:
    """Past forecasts by source. newest: number of forecasts read per source."""
    entries: dict[str, list[ForecastEntry]] = {source: [] for source in topology.sources}
    for entry in ledger.forecasts(topology.name, limit=newest * max(1, len(topology.sources))):
        entries.setdefault(entry.source, []).append(entry)
    history, bounds, lacking = _history(workspace, topology)
    causes = read_failures(workspace.settings.forecasts_dir / topology.name)
    return {
        source: _judged(
            entries[source][:newest],
            known_by(history, source, topology.events, now),
            known_by(bounds, source, topology.events, now),
            causes.get(source, lacking),
        )
        for source in topology.sources
    }


def _judged(
    entries: Sequence[ForecastEntry], history: ArrivalSeries | None, bounds: ArrivalSeries | None, failure: str
) -> PastForecasts:
    if not entries:
        return PastForecasts(entries, history, failure)
    try:
        newest = recorded_forecast(entries[0], with_paths=False)
        judged = judged_forecasts([newest, *_readable(entries[1:])], history, bounds)
    except (ForecastError, HistoryError) as error:
        return PastForecasts(entries, history, failure, error=str(error))
    return PastForecasts(entries, history, failure, judged)


def _history(
    workspace: Workspace, topology: ForecastTopology
) -> tuple[ArrivalHistory | None, ArrivalHistory | None, str]:
    """The history, and the same with lower bounds where windows are known in part; or why there is none."""
    try:
        history = read_history(workspace.settings.history_dir, topology.name)
        bounds = read_history(
            workspace.settings.history_dir, topology.name, snapshot=history.snapshot, lower_bounds=True
        )
    except HistoryError as error:
        return None, None, str(error)
    return history.in_local_time(topology.timezones), bounds.in_local_time(topology.timezones), ""


def known_by(
    history: ArrivalHistory | None, source: str, events: Sequence[HolidaysEntry | EventEntry], now: datetime
) -> ArrivalSeries | None:
    """The known history of a source. Announced outages are left out: they do not judge a forecast."""
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


def _readable(entries: Sequence[ForecastEntry]) -> list[Forecast]:
    """Past forecasts without their paths; missing ones are left out."""
    found = []
    for entry in entries:
        try:
            found.append(recorded_forecast(entry, with_paths=False))
        except ForecastError as error:
            logger.info("a past forecast is left out of the record: %s", error)
    return found


def write_failures(folder: Path, at: datetime, causes: Mapping[str, str]) -> None:
    """Replace the stored causes by source. Raises OSError."""
    write_whole(json.dumps({"at": at.isoformat(), "causes": dict(causes)}, indent=1), folder / FILE)


def read_failures(folder: Path) -> dict[str, str]:
    """Causes by source; empty if nothing was forecast yet or the file is not readable as ours."""
    try:
        causes = json.loads(bounded_text(folder / FILE))["causes"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {str(source): str(cause) for source, cause in causes.items()} if isinstance(causes, dict) else {}
