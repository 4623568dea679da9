"""A span of the history, coarse enough to view: windows summed up per source and time bin.

Bins hide nothing: each keeps the largest count of each status and the number of missing windows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forecasting.arrays import Floats
from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.coverage import Int64s
from forecasting.arrivals.grid import DAY_S, SECOND_US, from_us, to_us
from forecasting.arrivals.history import MISSING, OBSERVED, STATUSES
from forecasting.arrivals.rows import source_codes, window_starts_us
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.manifest import Manifest
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.errors import HistoryError
from forescale.history.span import HistorySpan

_COLUMNS = ("source", "window_start", "count", "status", "measures")
_WIDTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_WIDTHS_D = (1, 2, 7, 14, 28)
PAGE_POINTS = 3000
"""Points per source of a page: as fine as a screen can show, few enough that the page opens at once."""
"""Bin widths that people read easily."""


@dataclass(frozen=True)
class BinnedWindows:
    """Windows of one source in bins of time; a window is in the bin in which it starts.

    edges_us: bin edges in microseconds since the epoch, multiples of the width, shape (bins + 1,).
    windows, events, largest: shape (statuses, bins), in the order of history.STATUSES: number of windows with the
    status, their total count, and the largest count of one, NaN if no window has it. Windows of the span that were
    never written are missing.
    """

    source: str
    window_s: int
    edges_us: Int64s
    windows: Int64s
    events: Int64s
    largest: Floats

    def count_of(self, status: str) -> Int64s:
        return np.asarray(self.windows[STATUSES.index(status)])

    def peak_per_s(self, *statuses: str) -> Floats:
        """The largest rate of a window with one of the statuses, shape (bins,); NaN if there is none."""
        counts = self.largest[[STATUSES.index(status) for status in statuses]]
        return np.asarray(np.fmax.reduce(counts, axis=0) / self.window_s)

    def mean_per_s(self) -> Floats:
        """The mean rate of the observed windows, shape (bins,); NaN if there is none."""
        at = STATUSES.index(OBSERVED)
        seconds = self.windows[at] * float(self.window_s)
        return np.asarray(np.divide(self.events[at], seconds, out=np.full(seconds.shape, np.nan), where=seconds > 0))

    def arrivals(self) -> int:
        """Total count, whatever the status of the windows."""
        return int(self.events.sum())

    def with_windows(self) -> npt.NDArray[np.bool_]:
        """Bins in which a window of the span starts, shape (bins,)."""
        return np.asarray(self.windows.sum(axis=0) > 0)


@dataclass(frozen=True)
class BinnedHistory:
    """by_width: for each requested width, in order, the bins by source. measures: what the rows measure."""

    measures: tuple[Measures, ...]
    by_width: tuple[Mapping[str, BinnedWindows], ...]


def binned_history(
    directory: Directory, span: HistorySpan, sources: Collection[str], only: Collection[str], widths_s: Sequence[int]
) -> BinnedHistory:
    """The windows that lie wholly in the span, in bins of each of the widths.

    sources: expected sources; one without a row is missing throughout. Other sources with rows are added. only: keep
    these alone, unless empty. Raises HistoryError for an unknown source, and for a span without a row.
    """
    read = partial(_binned, span=span, sources=sources, only=only, widths_s=widths_s)
    return read_commit(directory, span.topology, span.snapshot, read)[1]


def readable_width_s(span: HistorySpan, max_bins: int) -> int:
    """A bin width, a multiple of the window, that gives at most so many bins in the span; an easily read width if one
    is near the smallest possible.
    """
    # One bin more than fits: both ends of the span may cut a bin.
    fewest_s = (span.end - span.start).total_seconds() / (max_bins - 1)
    smallest_s = span.window_s * max(1, ceil(fewest_s / span.window_s))
    for width_s in (*_WIDTHS_S, *(DAY_S * days for days in _WIDTHS_D)):
        if width_s % span.window_s == 0 and smallest_s <= width_s <= 4 * smallest_s:
            return width_s
    return smallest_s


def _binned(
    folder: Folder,
    manifest: Manifest,
    span: HistorySpan,
    sources: Collection[str],
    only: Collection[str],
    widths_s: Sequence[int],
) -> BinnedHistory:
    window_us = span.window_s * SECOND_US
    first_us = -(-to_us(span.start) // window_us) * window_us
    last_us = to_us(span.end) // window_us * window_us - window_us
    sums = [_Sums(first_us, last_us, width_s * SECOND_US) for width_s in widths_s]
    measures: set[str] = set()
    found: set[str] = set()
    for date in sorted(manifest.parts):
        day = datetime.fromisoformat(date).replace(tzinfo=UTC)
        if to_us(day) > last_us or to_us(day + timedelta(days=1)) <= first_us:
            continue
        # One date at a time: a year of many sources would not fit in memory. Every date of a manifest has rows.
        until = day + timedelta(days=1, seconds=span.window_s) - timedelta(microseconds=1)
        rows = rows_between(folder, manifest, day, until, columns=_COLUMNS)
        starts_us = window_starts_us(rows)
        rows = rows.filter(pa.array((starts_us >= first_us) & (starts_us <= last_us)))
        if rows.num_rows:
            found |= set(rows["source"].unique().to_pylist())
            measures |= set(rows["measures"].unique().to_pylist())
            for one in sums:
                one.add(rows)
    if not found:
        raise HistoryError(
            f"topology {span.topology!r} has no window of {span.window_s} s from {span.start} to {span.end}; "
            f"its history covers {span.history_start} to {span.history_end}: ask for a longer span within"
        )
    names = sorted({*sources, *found})
    if unknown := sorted(set(only) - set(names)):
        raise HistoryError(
            f"topology {span.topology!r} has no source {unknown[0]!r} from {span.start} to {span.end}; known are "
            f"{', '.join(names)}"
        )
    chosen = [name for name in names if name in only or not only]
    by_width = tuple({name: one.of(name, span.window_s) for name in chosen} for one in sums)
    return BinnedHistory(tuple(Measures(one) for one in sorted(measures)), by_width)


class _Sums:
    """Sums of rows by source and bin."""

    def __init__(self, first_us: int, last_us: int, width_us: int) -> None:
        self._width_us = width_us
        self._begin = first_us // width_us
        bins = last_us // width_us - self._begin + 1
        self._edges_us = (self._begin + np.arange(bins + 1, dtype=np.int64)) * width_us
        self._bounds_us = (first_us, last_us)
        self._shape = (len(STATUSES), bins)
        self._sums: dict[str, tuple[Int64s, Int64s, Int64s]] = {}

    def add(self, rows: pa.Table) -> None:
        codes, names = source_codes(rows)
        bins = window_starts_us(rows) // self._width_us - self._begin
        told = rows["status"].combine_chunks().dictionary_encode()
        number = np.array([STATUSES.index(status) for status in told.dictionary.to_pylist()], dtype=np.int64)
        statuses = number[told.indices.to_numpy()]
        # A partial window may have no count.
        counts = rows["count"].fill_null(-1).to_numpy()
        for code, name in enumerate(names):
            windows, events, largest = self._sums.setdefault(name, self._nothing())
            at = codes == code
            where = (statuses[at], bins[at])
            np.add.at(windows, where, 1)
            np.add.at(events, where, np.maximum(counts[at], 0))
            np.maximum.at(largest, where, counts[at])

    def of(self, source: str, window_s: int) -> BinnedWindows:
        windows, events, counts = self._sums.get(source, self._nothing())
        missing = STATUSES.index(MISSING)
        windows[missing] += self._expected(window_s * SECOND_US) - windows.sum(axis=0)
        largest = np.where(counts < 0, np.nan, counts)
        largest[missing] = np.nan
        return BinnedWindows(source, window_s, self._edges_us, windows, events, largest)

    def _nothing(self) -> tuple[Int64s, Int64s, Int64s]:
        """No windows, no events, and a largest count that any other exceeds."""
        return np.zeros(self._shape, np.int64), np.zeros(self._shape, np.int64), np.full(self._shape, -1, np.int64)

    def _expected(self, window_us: int) -> Int64s:
        """Number of windows of the span that start in each bin."""
        first_us, last_us = self._bounds_us
        edges_us = np.clip(self._edges_us, first_us, last_us + window_us)
        return np.diff(-(-edges_us // window_us))


def bin_starts(bins: BinnedWindows) -> list[datetime]:
    return [from_us(us) for us in bins.edges_us[:-1].tolist()]
