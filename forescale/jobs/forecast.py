"""Arrival history → a forecast of each source, backtested, calibrated, tracked in MLflow and kept in the ledger."""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.forecast import HORIZONS_S
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.pipeline import known_history, make_forecast
from forescale.settings import Settings
from forescale.topology_file import TopologyConfig
from forescale.wiring import clock_of, ledger_of, topology_config, tracker_of
from planner.ledger.entries import ForecastEntry


def forecast(topology: str, *, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Forecast each source from what is known now: {"topology", "forecasts": {source: folder}, "run_ids",
    "peaks_per_s"}.

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
        identity = _identity(config, series, now)
        known = {entry.id: entry for entry in ledger.forecasts(config.topology)}
        entries[source] = known.get(identity) or _made(
            identity, config, settings, series, history.snapshot, now, progress
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
    }


def _identity(config: TopologyConfig, series: ArrivalSeries, now: datetime) -> str:
    """The same for the same forecast: a task that runs again after a kill keeps no second one."""
    seen = known_history(series, now, config.forecast.step_s).digest()
    asked = config.forecast.model_dump_json()
    return hashlib.sha256(f"{config.topology}|{series.source}|{seen}|{asked}".encode()).hexdigest()[:16]


def _made(
    identity: str,
    config: TopologyConfig,
    settings: Settings,
    series: ArrivalSeries,
    snapshot: str,
    now: datetime,
    progress: Callable[[str], None] | None,
) -> ForecastEntry:
    wanted = config.forecast
    made = make_forecast(
        series,
        issued_at=now,
        step_s=wanted.step_s,
        horizon_s=wanted.horizon_s,
        horizons_s=HORIZONS_S,
        paths=wanted.paths,
        origins=wanted.origins,
        seed=wanted.seed,
        history_snapshot=snapshot,
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
