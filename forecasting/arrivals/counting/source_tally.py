"""Reads a merged tally by source: counts, outcomes of rows, and when the feed was alive."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from forecasting.arrivals.counting.tally import Bins, TallyKind
from forecasting.arrivals.coverage import Int64s, spans_between_events
from forecasting.arrivals.grid import SECOND_US

_TALLIES = {
    "duplicates": TallyKind.DUPLICATES,
    "late": TallyKind.LATE,
    "future": TallyKind.FUTURE,
    "unset_clock": TallyKind.UNSET_CLOCK,
    "skipped_hour": TallyKind.SKIPPED_HOUR,
}


@dataclass(frozen=True)
class SourceTally:
    """The merged tally of one source: for each kind, bins in order and at most once.

    bin, window, of, number: shape (entries,). windows: number of windows in the interval. weighted: whether rows have
    weights.
    """

    bin: Int64s
    window: Int64s
    of: Int64s
    number: Int64s
    windows: int
    weighted: bool

    def dense(self, *kinds: TallyKind) -> Int64s:
        """Sum per window of the interval, shape (windows,)."""
        at = (self.window >= 0) & (self.window < self.windows)
        at &= np.logical_or.reduce([self.of == kind for kind in kinds])
        return np.bincount(self.window[at], self.number[at], minlength=self.windows).astype(np.int64)

    def tallies(self) -> dict[str, Int64s]:
        kinds = set(self.of.tolist())
        # Without weights, rows are the events that count and the copies.
        rows = [TallyKind.ROWS] if self.weighted else [TallyKind.COUNT, TallyKind.DUPLICATES]
        tallies = {
            "rows_read": self.dense(
                *rows, TallyKind.LATE, TallyKind.FUTURE, TallyKind.UNSET_CLOCK, TallyKind.SKIPPED_HOUR
            )
        }
        return tallies | {name: self.dense(kind) for name, kind in _TALLIES.items() if kind in kinds}

    def alive(self, bins: Bins, span_s: float) -> Int64s:
        """Spans in which no silence between events was too long."""
        with_rows = self.bin[self.of == (TallyKind.ROWS if self.weighted else TallyKind.COUNT)]
        # A bin without recorded ends lies amid events and ends no span, so its start serves as both.
        first_us, last_us = bins.starts_us(with_rows), bins.starts_us(with_rows)
        for kind, times_us in ((TallyKind.FIRST, first_us), (TallyKind.LAST, last_us)):
            at = self.of == kind
            times_us[np.searchsorted(with_rows, self.bin[at])] = self.number[at]
        return spans_between_events(first_us, last_us + int(span_s * SECOND_US), bins.silence_us)

    def unsure(self, bins: Bins) -> Int64s:
        """Spans of bins whose count is uncertain because of a repeated hour."""
        starts_us = bins.starts_us(self.bin[self.of == TallyKind.AMBIGUOUS])
        # The last bin of a window may be narrower than the others.
        window_ends_us = (starts_us // bins.window_us + 1) * bins.window_us
        return np.column_stack([starts_us, np.minimum(starts_us + bins.width_us, window_ends_us)])


def by_source(tally: pa.Table, bins: Bins, *, weighted: bool) -> dict[str, SourceTally]:
    if tally.num_rows == 0:
        return {}
    source = tally["source"].unify_dictionaries().combine_chunks()
    source = source.chunk(0) if isinstance(source, pa.ChunkedArray) else source
    codes = source.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(source.dictionary) + 1))
    columns = [tally[name].to_numpy().astype(np.int64)[order] for name in ("bin", "of", "number")]
    windows = (bins.end_us - bins.begin_us) // bins.window_us
    found = {}
    for code, name in enumerate(source.dictionary.to_pylist()):
        at, of, number = (column[edges[code] : edges[code + 1]] for column in columns)
        if at.size:
            found[name] = SourceTally(at, bins.windows(at), of, number, windows, weighted)
    return found
