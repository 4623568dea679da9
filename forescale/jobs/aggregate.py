"""Arrivals → the history of one topology: what came since the last time, or any interval again."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from forecasting.arrivals.pipeline import build_history
from forecasting.errors import HistoryError
from forescale.arrival_sources import arrival_source
from forescale.settings import Settings
from forescale.wiring import clock_of, topology_config


def aggregate(
    topology: str,
    *,
    start: str | None = None,
    end: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Make the interval [start, end) of the history anew; by default from where it ends, up to now.

    start, end: ISO times; one without an offset is UTC. Idempotent. Raises HistoryError or TopologyFileError.
    """
    settings = Settings()
    config = topology_config(topology, settings)
    now = clock_of(settings).now()
    with arrival_source(config, settings, now) as source:
        summary = build_history(
            source,
            topology=config.topology,
            window_s=config.arrivals.window_s,
            start=moment(start, "start") if start else None,
            end=moment(end, "end") if end else now,
            out_dir=settings.history_dir,
            reopen_s=config.arrivals.lateness_s,
            keep_s=settings.snapshot_days * 86400,
            progress=progress,
        )
    total = summary.quality.total
    return {
        "topology": summary.topology,
        "start": summary.start.isoformat(),
        "end": summary.end.isoformat(),
        "window_s": summary.window_s,
        "measures": summary.measures.value,
        "snapshot": summary.snapshot,
        **asdict(total),
        "quarantined": dict(total.quarantined),
        "per_source": dict(summary.per_source),
        "history_end": summary.end.isoformat(),
        "seconds": summary.seconds,
    }


def moment(text: str, name: str) -> datetime:
    """An ISO time; one without an offset is UTC. Raises HistoryError naming the field."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise HistoryError(f"{name} {text!r} is no ISO time; give it like 2026-03-01T06:45:00Z") from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
