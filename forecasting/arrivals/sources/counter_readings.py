"""Counts per window from readings of cumulative counters: restarts, gaps, interpolation, and coverage of totals.

Rules for every source based on counters:

- Between two readings at most max_gap_s apart the increase is spread evenly. The counter itself, interpolated at the
  windows' edges, is rounded: no event is lost or counted twice, and no count depends on the interval read.
- A value below the one before means a restart from zero. The increase is then the new value, a lower bound: events
  between the last reading and the restart are lost, so that span is counted but not alive.
- Across a longer gap the time of the increase is unknown: it is not counted, and the gap is not alive.
- The total of several counters is alive where at least one of them is read and none is in doubt. A counter silent for
  at most ended_after_s was merely not read: the whole silence is in doubt. One silent for longer has ended, and a new
  one has begun; its counts after its last and before its first reading are unknown, so max_gap_s after its end and
  before its beginning are in doubt. It is taken to have ended once other counters were read after ended_after_s; until
  then, that long after its last reading is in doubt.

So the state of a moment depends only on readings from ended_after_s before it to twice that after it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.arrival_source import SourceArrivals
from forecasting.arrivals.coverage import Int64s, merged_spans, spans_between_breaks, spans_without
from forecasting.arrivals.grid import SECOND_US, to_us, whole_windows
from forecasting.errors import HistoryError

LARGEST = 2.0**62


@dataclass(frozen=True)
class ReadingGaps:
    """How long a counter may go unread.

    max_gap_s: longest known gap between two readings, which bounds the time error of an event. ended_after_s: a counter
    silent for longer has ended; at least max_gap_s.
    """

    max_gap_s: float
    ended_after_s: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < self.max_gap_s < math.inf:
            raise HistoryError(f"max_gap_s {self.max_gap_s}; give a positive number of seconds")
        if not self.max_gap_s <= self.ended_after_s < math.inf:
            raise HistoryError(f"ended_after_s {self.ended_after_s}; give seconds, at least max_gap_s {self.max_gap_s}")

    @property
    def max_gap_us(self) -> int:
        return round(self.max_gap_s * SECOND_US)

    @property
    def ended_after_us(self) -> int:
        return round(self.ended_after_s * SECOND_US)

    @property
    def unsettled_s(self) -> float:
        """How long readings can still change the state of a past moment."""
        return 2 * self.ended_after_s

    def needed_us(self, edges_us: Int64s) -> tuple[int, int]:
        """The interval whose readings affect the windows between the edges."""
        return int(edges_us[0]) - self.ended_after_us, int(edges_us[-1]) + 2 * self.ended_after_us


@dataclass(frozen=True)
class CounterReadings:
    """Readings of one cumulative counter.

    times_us: shape (readings,), ascending; values: of the same shape.
    Raises HistoryError for times out of order and for values that are not a counter's.
    """

    times_us: Int64s
    values: Floats

    def __post_init__(self) -> None:
        if self.times_us.ndim != 1 or self.times_us.shape != self.values.shape:
            raise HistoryError(f"{self.times_us.shape} times of {self.values.shape} readings; give one per reading")
        if (np.diff(self.times_us) <= 0).any():
            raise HistoryError("readings of a counter are out of order; sort them by time, one reading a moment")
        if (bad := ~((self.values >= 0) & (self.values < LARGEST))).any():
            raise HistoryError(
                f"a reading is {self.values[bad][0]:g}; a counter is a number from 0, so read a counter, not a gauge"
            )

    def counts(self, edges_us: Int64s, max_gap_us: int) -> Int64s:
        """Increase between consecutive edges, shape (edges - 1,), as far as its time is known."""
        known = np.diff(self.times_us) <= max_gap_us
        before, after = self.values[:-1][known], self.values[1:][known]
        fell = after < before
        return spread_counts(
            np.column_stack([self.times_us[:-1], self.times_us[1:]])[known],
            np.where(fell, 0.0, before),
            after,
            edges_us,
        )

    def known(self, max_gap_us: int) -> Int64s:
        """Spans in which every increase is known, shape (spans, 2); a lone reading is a span of length zero."""
        breaks = (np.diff(self.times_us) > max_gap_us) | (np.diff(self.values) < 0)
        return spans_between_breaks(breaks, self.times_us, self.times_us)


def window_edges_us(start: datetime, end: datetime, window_s: int) -> Int64s:
    """Edges of the windows of [start, end), shape (windows + 1,). Raises HistoryError if it is off the grid."""
    for moment, whole in zip((start, end), whole_windows(start, end, window_s), strict=True):
        if moment != whole:
            raise HistoryError(f"{moment} is not on the grid of windows of {window_s} s; the edge before it is {whole}")
    width_us = window_s * SECOND_US
    return np.arange(to_us(start), to_us(end) + width_us, width_us, dtype=np.int64)


def total_of(counters: Sequence[CounterReadings], edges_us: Int64s, gaps: ReadingGaps) -> SourceArrivals:
    """The total of all counters of one source, in any order."""
    counts = np.zeros(edges_us.size - 1, dtype=np.int64)
    rows = np.zeros_like(counts)
    for counter in counters:
        counts += counter.counts(edges_us, gaps.max_gap_us)
        rows += np.diff(np.searchsorted(counter.times_us, edges_us))
    alive = alive_together([counter.known(gaps.max_gap_us) for counter in counters], gaps)
    return SourceArrivals(counts, clipped(alive, edges_us), tallies={"rows_read": rows})


def spread_counts(spans_us: Int64s, before: Floats, after: Floats, edges_us: Int64s) -> Int64s:
    """Increase of a counter between consecutive edges, shape (edges - 1,).

    spans_us: shape (rises, 2), disjoint and sorted. before, after: the counter at both ends of each, shape (rises,).
    """
    if spans_us.size == 0:
        return np.zeros(edges_us.size - 1, dtype=np.int64)
    begins, ends = spans_us[:, 0], spans_us[:, 1]
    risen = np.concatenate([[0], np.cumsum(_rounded(after) - _rounded(before))])
    latest = np.searchsorted(begins, edges_us, side="right") - 1
    share = np.clip((edges_us - begins[latest]) / (ends - begins)[latest], 0.0, 1.0)
    # At the end of a span rounding could miss the reading itself.
    at_edge = np.where(share < 1.0, before[latest] + (after - before)[latest] * share, after[latest])
    rising = _rounded(at_edge) - _rounded(before[latest])
    return np.diff(np.where(latest < 0, 0, risen[latest] + rising))


def alive_together(known: Sequence[Int64s], gaps: ReadingGaps) -> Int64s:
    """Spans in which the total of several counters is known, from the known spans of each."""
    nonempty = [spans for spans in known if spans.size]
    if not nonempty:
        return np.empty((0, 2), dtype=np.int64)
    anyone = merged_spans((int(begin), int(end)) for spans in nonempty for begin, end in spans)
    doubts = np.concatenate([_doubts(spans, anyone, gaps) for spans in nonempty])
    return spans_without(anyone, merged_spans((int(begin), int(end)) for begin, end in doubts))


def clipped(spans: Int64s, edges_us: Int64s) -> Int64s:
    """The spans clipped to the range of the edges."""
    within = np.clip(spans, edges_us[0], edges_us[-1])
    return within[within[:, 0] < within[:, 1]]


def _doubts(spans: Int64s, anyone: Int64s, gaps: ReadingGaps) -> Int64s:
    """Spans in which one counter may have counted unread events."""
    begins, ends = spans[:, 0], spans[:, 1]
    believed_from, believed_to = ends + gaps.ended_after_us, ends + 2 * gaps.ended_after_us
    latest = np.searchsorted(anyone[:, 0], believed_to, side="right") - 1
    seen_after = (latest >= 0) & (anyone[latest, 1] >= believed_from)
    after = np.column_stack([ends, ends + np.where(seen_after, gaps.max_gap_us, gaps.ended_after_us)])
    before = np.column_stack([begins - gaps.max_gap_us, begins])
    silences = np.column_stack([ends[:-1], begins[1:]])
    only_unread = (silences[:, 1] - silences[:, 0]) <= gaps.ended_after_us
    after[:-1][only_unread] = silences[only_unread]
    before[1:][only_unread] = silences[only_unread]
    return np.concatenate([after, before])


def _rounded(values: Floats) -> Int64s:
    """Rounds halves up: rounding to even would make equal increases differ."""
    whole = np.floor(values)
    return whole.astype(np.int64) + (values - whole >= 0.5)
