"""Raw events → arrival history of one topology."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from forecasting.arrivals.event_source import EventSource
from forecasting.errors import HistoryError
from forescale.settings import Settings
from forescale.wiring import clock_of, event_source_of, topology_config


def aggregate(topology: str, *, start: str | None = None, end: str | None = None) -> dict[str, Any]:
    """Make the interval [start, end) of the history anew; by default all of it, up to now.

    start, end: ISO times; one without an offset is UTC. Idempotent. Raises HistoryError or TopologyFileError.
    """
    from forecasting.arrivals.pipeline import build_history
    from forecasting.arrivals.spark_session import spark_session

    settings = Settings()
    config = topology_config(topology, settings)
    source: EventSource = event_source_of(config, settings)
    until = moment(end, "end") if end else clock_of(settings).now()
    with spark_session(settings.spark_master, f"aggregate {topology}") as spark:
        summary = build_history(
            spark,
            source,
            topology=config.topology,
            window_s=config.arrivals.window_s,
            start=moment(start, "start") if start else None,
            end=until,
            out_dir=settings.history_dir,
        )
    return {
        **asdict(summary),
        "start": summary.start.isoformat(),
        "end": summary.end.isoformat(),
        "per_source": dict(summary.per_source),
        "history_end": summary.end.isoformat(),
        "rows": summary.rows_read,
    }


def moment(text: str, name: str) -> datetime:
    """An ISO time; one without an offset is UTC. Raises HistoryError naming the field."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise HistoryError(f"{name} {text!r} is no ISO time; give it like 2026-03-01T06:45:00Z") from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
