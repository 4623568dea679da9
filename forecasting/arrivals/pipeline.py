"""Builds the history of a topology from a source of arrivals, by whole days, in one commit."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import numpy as np

from forecasting.arrivals.arrival_source import (
    Arrivals,
    ArrivalSource,
    Measures,
    SeriesCopies,
    SourceArrivals,
)
from forecasting.arrivals.coverage import covered_us
from forecasting.arrivals.grid import DAY_S, from_us, to_us, whole_windows
from forecasting.arrivals.quality import Quality, quality
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.layout import days_of, iso_date, topology_folder
from forecasting.arrivals.storage.manifest import read_manifest
from forecasting.arrivals.storage.parts import read_part
from forecasting.arrivals.storage.snapshots import KEEP_S
from forecasting.arrivals.store import built_until, write_history
from forecasting.errors import HistoryError, HistoryStoreError

_WINDOWS_AT_ONCE = 3_000_000
_SOURCES_EXPECTED = 200

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HistorySummary:
    """Summary of building [start, end), the interval snapped to whole windows.

    measures: whether counts are offered load or throughput. quality: of the interval, by source and in total.
    per_source: events kept. copies: series that seem to be counted twice. snapshot: id of the commit. seconds: wall
    clock.
    """

    topology: str
    start: datetime
    end: datetime
    window_s: int
    measures: Measures
    quality: Quality
    snapshot: str
    seconds: float
    copies: tuple[SeriesCopies, ...] = ()

    @property
    def per_source(self) -> Mapping[str, int]:
        return {name: of_source.kept for name, of_source in self.quality.sources.items()}


def build_history(
    source: ArrivalSource,
    *,
    topology: str,
    window_s: int,
    start: datetime | None,
    end: datetime,
    out_dir: Directory,
    reopen_s: float = 0,
    keep_s: float = KEEP_S,
    progress: Callable[[str], None] | None = None,
) -> HistorySummary:
    """Rebuild [start, end) of the topology's history in out_dir from the source.

    start: None to continue the history, from midnight UTC of its last window's day, or of an earlier window's that may
    still change (according to reopen_s and the source); without a history, from the source's first moment. A history
    that reaches beyond `end` (say after a wrong clock) is continued from `end`.
    A source appears from its first day with data. A known source without data is written as missing, never dropped. If
    the source forgets, windows that the history knows better stay as they are.
    Memory grows with the windows of a few days, not with the interval. Readers see the old interval until the whole new
    one is committed.
    Raises HistoryError for unusable arrivals; nothing is written then.
    """
    began = time.perf_counter()
    if start is None:
        until = built_until(out_dir, topology)
        again_s = max(reopen_s, source.unsettled_s, window_s)
        start = source.first_moment() if until is None else min(until, end) - timedelta(seconds=again_s)
        start = start.replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = whole_windows(start, end, window_s)
    held = known_sources(out_dir, topology, start, end)
    copies: dict[tuple[str, str], SeriesCopies] = {}
    batches = _by_days(source, topology, start, end, window_s, held, progress, copies)
    snapshot = write_history(batches, out_dir, topology, start, end, keep_known=source.forgets, keep_s=keep_s)
    found = quality(out_dir, topology, start, end, snapshot=snapshot)
    for name, of_source in found.sources.items():
        log.info("history of %s, source %s, %s to %s: %s", topology, name, start, end, of_source)
    seconds, doubled = time.perf_counter() - began, tuple(copies.values())
    return HistorySummary(topology, start, end, window_s, source.measures, found, snapshot, seconds, doubled)


def _by_days(
    source: ArrivalSource,
    topology: str,
    start: datetime,
    end: datetime,
    window_s: int,
    held: Mapping[date, Collection[str]],
    progress: Callable[[str], None] | None,
    copies: dict[tuple[str, str], SeriesCopies],
) -> Iterator[Arrivals]:
    """The arrivals of the interval by day; every source is present from its first day on.

    held: sources of the existing history, by date. copies: filled with those found on the way, by source and label.
    """
    known = {name for day, names in held.items() if day < start.date() for name in names}
    named: set[str] = set()
    at = start
    while at < end:
        days = max(1, _WINDOWS_AT_ONCE // (max(len(known), _SOURCES_EXPECTED) * max(1, DAY_S // window_s)))
        until = min(end, _midnight_after(at, days, window_s))
        if progress is not None:
            progress(f"{topology}: {at:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}")
        arrivals = source.read(at, until, window_s)
        named |= set(arrivals.sources)
        copies |= {(one.source, one.label): one for each in arrivals.sources.values() for one in each.copies}
        for day in arrivals.by_day():
            known |= _sources_with_data(day, known).union(held.get(day.start.date(), ()))
            if known:
                yield _of(known, day)
        at = until
    if not (known or named):
        raise HistoryError(
            f"{source.place} has no source with data between {start} and {end}; "
            "check the interval, or wait for arrivals"
        )
    if not known:
        # Nothing is known of these sources, so the history says missing.
        for day in Arrivals(start, end, window_s, source.measures, {}).by_day():
            yield _of(named, day)


def _sources_with_data(day: Arrivals, known: Collection[str]) -> set[str]:
    """The sources with data on that day that are not known yet."""
    edges_us = day.edges_us()
    return {
        name
        for name, source_arrivals in day.sources.items()
        if name not in known
        and (
            source_arrivals.counts.any()
            or any(tally.any() for tally in source_arrivals.tallies.values())
            or covered_us(source_arrivals.alive, edges_us[[0, -1]]).any()
        )
    }


def _of(sources: Collection[str], day: Arrivals) -> Arrivals:
    """The arrivals of exactly these sources; those without data are missing."""
    silent = SourceArrivals(np.zeros(day.windows, np.int64), np.empty((0, 2), np.int64))
    return replace(day, sources={name: day.sources.get(name, silent) for name in sources})


def _midnight_after(moment: datetime, days: int, window_s: int) -> datetime:
    """The first window that starts on the date `days` later; a window belongs to the date on which it starts."""
    midnight_us = (to_us(moment) // (DAY_S * 1_000_000) + days) * DAY_S * 1_000_000
    width_us = window_s * 1_000_000
    return max(from_us(-(-midnight_us // width_us) * width_us), moment + timedelta(seconds=window_s))


def known_sources(directory: Directory, topology: str, start: datetime, end: datetime) -> Mapping[date, frozenset[str]]:
    """The sources with rows on each stored date of [start, end), and on the last date before: one without new data is
    missing, not dropped.

    A date whose file is damaged or missing is left out, so that rebuilding repairs it. Raises HistoryStoreError.
    """
    folder = topology_folder(directory, topology)
    manifest = read_manifest(folder)
    if manifest is None:
        return {}
    days = days_of(start, end)
    first, last = iso_date(days[0]), iso_date(days[-1])
    before = max((held for held in manifest.parts if held < first), default=None)
    found = {}
    for held in manifest.parts:
        if held == before or first <= held <= last:
            try:
                rows = read_part(folder, manifest.part(held), ["source"])
            except HistoryStoreError:
                raise
            except FileNotFoundError:
                if read_manifest(folder) != manifest:  # another writer has superseded and removed it
                    return known_sources(directory, topology, start, end)
                continue
            except HistoryError:
                continue
            found[date.fromisoformat(held)] = frozenset(rows["source"].unique().to_pylist())
    return found
