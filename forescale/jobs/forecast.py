"""Arrival history → a forecast of each source, backtested, calibrated, tracked in MLflow and kept in the ledger."""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.events.calendar import EventCalendar
from forecasting.events.effects import without_outages
from forecasting.forecast import HORIZONS_S
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.forecasters import all_forecasters
from forecasting.pipeline import known_history, make_forecast
from forecasting.terms import ForecastTerms
from forescale.events_section import event_calendar
from forescale.jobs.forecast_report import reports_after_forecast
from forescale.settings import Settings
from forescale.topology_file import TopologyConfig
from forescale.wiring import clock_of, ledger_of, topology_config, tracker_of
from planner.ledger.entries import ForecastEntry

EVENTS_AHEAD = timedelta(days=2)
"""Known beyond the horizon, so that what was learnt can be asked later than it was learnt."""


def forecast(topology: str, *, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Forecast each source from what is known now: {"topology", "forecasts": {source: folder}, "run_ids",
    "peaks_per_s", "reports": {source: page}}.

    The same history gives the same forecast, and is tracked once, with the commit that the history was read from.
    Raises HistoryError or ForecastError where the history does not do, TrackingError where MLflow does not answer; the
    forecasts of before stay the newest then.
    """
    settings = Settings()
    config = topology_config(topology, settings)
    ledger = ledger_of(settings)
    now = clock_of(settings).now()
    history = read_history(settings.history_dir, config.topology)
    entries = {}
    for source in config.as_topology().sources:
        whole = history.source(source)
        until = min(whole.end, now)
        series = whole.between(max(whole.start, until - timedelta(days=config.forecast.train_days)), until)
        reach = now + timedelta(seconds=config.forecast.horizon_s) + EVENTS_AHEAD
        calendar = event_calendar(config.events, series.start, reach).of_source(source)
        series = without_outages(series, calendar)
        identity = _identity(config, series, now, calendar)
        known = {entry.id: entry for entry in ledger.forecasts(config.topology)}
        entries[source] = known.get(identity) or _made(
            identity, config, settings, series, calendar, history.snapshot, now, progress
        )
        ledger.record_forecast(entries[source])
    forecasts = {source: read_forecast(Path(entry.folder)) for source, entry in entries.items()}
    return {
        "topology": config.topology,
        "forecasts": {source: entry.folder for source, entry in entries.items()},
        "run_ids": {source: entry.run_id for source, entry in entries.items()},
        "peaks_per_s": {
            source: {str(horizon): peak.tolist() for horizon, peak in made.peak_per_s.items()}
            for source, made in forecasts.items()
        },
        "reports": reports_after_forecast(topology),
    }


def _identity(config: TopologyConfig, series: ArrivalSeries, now: datetime, calendar: EventCalendar) -> str:
    """The same for the same forecast: a task that runs again after a kill keeps no second one."""
    seen = known_history(series, now, config.forecast.step_s).digest()
    asked = config.forecast.model_dump_json()
    known = f"|{calendar.digest()}" if calendar.events else ""
    return hashlib.sha256(f"{config.topology}|{series.source}|{seen}|{asked}{known}".encode()).hexdigest()[:16]


def _made(
    identity: str,
    config: TopologyConfig,
    settings: Settings,
    series: ArrivalSeries,
    calendar: EventCalendar,
    snapshot: str,
    now: datetime,
    progress: Callable[[str], None] | None,
) -> ForecastEntry:
    wanted = config.forecast
    made = make_forecast(
        series,
        issued_at=now,
        terms=ForecastTerms(wanted.step_s, wanted.horizon_s, HORIZONS_S, wanted.paths, wanted.origins, wanted.seed),
        history_snapshot=snapshot,
        forecasters=all_forecasters(calendar),
        progress=progress,
    )
    tracked = tracker_of(settings).record_forecast(made)
    folder = settings.forecasts_dir.resolve() / config.topology / f"{now:%Y%m%dT%H%M%S}-{series.source}-{identity}"
    write_forecast(tracked, folder)
    return ForecastEntry(
        id=identity,
        topology=config.topology,
        source=series.source,
        issued_at=tracked.issued_at,
        horizon_end=tracked.end,
        run_id=tracked.run_id,
        model_version=tracked.model_version,
        folder=str(folder),
        history_digest=tracked.history_digest,
        history_snapshot=tracked.history_snapshot,
    )
