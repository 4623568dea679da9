"""Arrivals → the history of one topology: what came since the last time, or any interval again."""

import logging
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from forecasting.arrivals.pipeline import build_history
from forecasting.errors import HistoryError
from forescale.history.span import moment
from forescale.settings import Settings
from forescale.wiring.arrivals import arrival_source
from forescale.wiring.parts import clock_of, topology_config

log = logging.getLogger(__name__)


def aggregate(
    topology: str,
    *,
    start: str | None = None,
    end: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Make the interval [start, end) of the history anew; by default from where it ends, up to now.

    start, end: ISO times; one without an offset is UTC. progress: called with each stretch that is about to be read.
    Idempotent. Raises HistoryError or TopologyFileError.
    """
    settings = Settings()
    config = topology_config(topology, settings)
    now = clock_of(settings).now()
    until = moment(end, "end") if end else now
    if until > now:
        raise HistoryError(
            f"end {end} lies after now ({now:%Y-%m-%d %H:%M:%S %Z}); give an earlier one, or leave it out"
        )
    with arrival_source(config, settings, now) as source:
        summary = build_history(
            source,
            topology=config.topology,
            window_s=config.arrivals.window_s,
            start=moment(start, "start") if start else None,
            end=until,
            out_dir=settings.history_dir,
            reopen_s=config.arrivals.lateness_s,
            keep_s=settings.snapshot_days * 86400,
            progress=progress,
        )
    total = summary.quality.total
    log.info(
        "history of %s from %s to %s (%s): %d rows read, %d kept, %d duplicates, %d late, %d in quarantine; windows: "
        "%d observed, %d partial, %d throttled, %d missing; snapshot %s",
        *(summary.topology, summary.start, summary.end, summary.measures),
        *(total.rows_read, total.kept, total.duplicates, total.late, sum(total.quarantined.values())),
        *(total.observed, total.partial, total.throttled, total.missing, summary.snapshot),
    )
    return {
        "topology": summary.topology,
        "start": summary.start.isoformat(),
        "end": summary.end.isoformat(),
        "window_s": summary.window_s,
        "measures": summary.measures.value,
        "snapshot": summary.snapshot,
        **asdict(total),
        "quarantined": dict(total.quarantined),
        "complete": total.complete,
        "per_source": dict(summary.per_source),
        "sources_unknown": sorted(set(config.as_topology().sources) - set(summary.per_source)),
        "history_end": summary.end.isoformat(),
        "seconds": summary.seconds,
    }
