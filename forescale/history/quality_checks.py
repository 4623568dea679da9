"""A history checked against the bounds of its topology file, per bound and source, with remedies."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from forecasting.arrivals.quality import Quality, SourceQuality, quality
from forecasting.arrivals.storage.directory import Directory
from forescale.files.arrivals_section import QualityEntry

RECENT = timedelta(days=14)
"""Newest part of the history that decisions are checked by: older windows hardly count in a forecast."""


@dataclass(frozen=True)
class QualityCheck:
    """One bound of `arrivals.quality` for one source. value, limit: shares. remedy: empty if the bound holds."""

    bound: str
    source: str
    value: float
    limit: float
    holds: bool
    remedy: str


def quality_checks(quality: Quality, bounds: QualityEntry) -> list[QualityCheck]:
    """Checks by bound and source. Each source is checked alone: live sources must not hide a dead one."""
    return [
        _checked(bound, name, of_source, getattr(bounds, bound))
        for bound in ("min_observed", "max_quarantined", "max_late", "max_duplicates")
        for name, of_source in quality.sources.items()
    ]


def recent_checks(
    directory: Directory, history: ArrivalHistory, sources: tuple[str, ...], bounds: QualityEntry, now: datetime
) -> list[QualityCheck]:
    """Checks of the windows of the last RECENT days. Raises HistoryError if their quality is unknown."""
    end = max(series.end for series in history.series.values())
    recent = quality(directory, history.topology, _begin(history, now), end, history.snapshot, sources)
    return quality_checks(recent, bounds)


def _begin(history: ArrivalHistory, now: datetime) -> datetime:
    """RECENT days ago; of a younger history where it begins."""
    oldest = min(history.series.values(), key=lambda series: series.start)
    if oldest.start < now - RECENT + timedelta(seconds=oldest.window_s):
        return max(oldest.start, now - RECENT)
    return counted_from(history)


def counted_from(history: ArrivalHistory) -> datetime:
    """Of a history from its beginning: the first count of its first day. Nothing is missing before it, though a history
    holds whole days.
    """
    begin = min(series.start for series in history.series.values())
    first = min(_first_count(series) for series in history.series.values())
    return first if first - begin < timedelta(days=1) else begin


def _first_count(series: ArrivalSeries) -> datetime:
    known = np.flatnonzero(np.isfinite(series.counts))
    return series.start + timedelta(seconds=series.window_s * (int(known[0]) if known.size else 0))


def _checked(bound: str, source: str, quality: SourceQuality, limit: float) -> QualityCheck:
    value = _value(bound, quality)
    holds = value >= limit if bound == "min_observed" else value <= limit
    return QualityCheck(bound, source, value, limit, holds, "" if holds else _remedy(bound, quality))


def _value(bound: str, quality: SourceQuality) -> float:
    counts = {
        "max_quarantined": sum(quality.quarantined.values()),
        "max_late": quality.late,
        "max_duplicates": quality.duplicates,
    }
    if bound not in counts:
        return quality.complete
    return counts[bound] / quality.rows_read if quality.rows_read else float(counts[bound] > 0)


def unobserved_remedy(quality: SourceQuality) -> str:
    """What most of the windows that were not observed are, and what helps."""
    most = max(("missing", "throttled", "partial"), key=lambda status: getattr(quality, status))
    return {
        "missing": "most of the rest is missing: see whether the feed was alive, then build the span again; if it "
        "was alive but silent, say when (coverage, max_silence_s, max_gap_s)",
        "throttled": "most of the rest is throttled: say when the source was held back (held_back), or "
        "that all that is offered is counted (measures: offered), then build the span again; or add capacity",
        "partial": "most of the rest is partial: see why the feed stops so often. Counters: pods that each carry "
        "much of the load begin or end there; scrape more often (scrape_interval_s). Events: bridge short silences "
        "(max_silence_s), or take wider windows (window_s)",
    }[most]


def _remedy(bound: str, quality: SourceQuality) -> str:
    if bound == "min_observed":
        return unobserved_remedy(quality)
    if bound == "max_quarantined":
        most = max(quality.quarantined, key=lambda reason: quality.quarantined[reason])
        return {
            "future": "most are stamped in the future: set the clocks that stamp them, or raise max_ahead_s",
            "unset_clock": "most were stamped before a clock was set: set the clocks, or lower not_before",
            "damaged": "most are torn, or no counts: the build's log names one with its time or line; see its writer",
            "skipped_hour": "most have times that daylight saving skips: stamp in UTC, or correct timezone",
        }[most]
    if bound == "max_late":
        return "rows come after their windows are closed: speed the feed up, or raise lateness_s"
    return (
        "the feed delivers twice: see its retries; if these are not copies, correct columns.id or lower max_copy_gap_s"
    )
