"""Arrivals → the history of one topology: new arrivals since the last build, or any interval again."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from forecasting.arrivals.arrival_source import Measures, SeriesCopies
from forecasting.arrivals.pipeline import build_history
from forecasting.arrivals.quality import SourceQuality
from forecasting.errors import HistoryError
from forescale.codec import Moment
from forescale.situation.workspace import Workspace
from forescale.wiring.arrivals import arrival_source

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BuiltHistory:
    """The build of [start, end). measures: offered load or throughput. snapshot: id of the commit.

    total: of all sources; per_source: events kept. sources_unknown: sources of the topology without any data.
    copies: series that seem to be counted twice. seconds: wall clock.
    """

    topology: str
    start: Moment
    end: Moment
    window_s: int
    measures: Measures
    snapshot: str
    total: SourceQuality
    per_source: Mapping[str, int]
    sources_unknown: tuple[str, ...]
    seconds: float
    copies: tuple[SeriesCopies, ...] = ()


def aggregate(
    workspace: Workspace,
    topology: str,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Callable[[str], None] | None = None,
) -> BuiltHistory:
    """Build the interval [start, end) of the history again; by default from its end up to now.

    progress: called with each interval before it is read. Idempotent. Raises HistoryError or FileError.
    """
    config = workspace.config(topology)
    now = workspace.clock.now()
    until = end or now
    if until > now:
        raise HistoryError(
            f"end {until:%Y-%m-%d %H:%M:%S %Z} lies after now ({now:%Y-%m-%d %H:%M:%S %Z}); give an earlier one, or "
            "leave it out"
        )
    with arrival_source(config, workspace.settings, now) as source:
        summary = build_history(
            source,
            topology=config.topology,
            window_s=config.arrivals.window_s,
            start=start,
            end=until,
            out_dir=workspace.settings.history_dir,
            reopen_s=config.arrivals.lateness_s,
            keep_s=workspace.settings.snapshot_days * 86400,
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
    return BuiltHistory(
        summary.topology,
        summary.start,
        summary.end,
        summary.window_s,
        summary.measures,
        summary.snapshot,
        total,
        summary.per_source,
        tuple(sorted(set(config.as_topology().sources) - set(summary.per_source))),
        summary.seconds,
        summary.copies,
    )
