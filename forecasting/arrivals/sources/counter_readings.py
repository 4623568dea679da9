"""Counts per window from readings of cumulative counters: restarts, gaps, interpolation, and coverage of totals.

Rules for every source based on counters:

- Between two readings at most max_gap_s apart the increase is spread evenly. The counter itself, interpolated at the
  windows' edges, is rounded: no event is lost or counted twice, and no count depends on the interval read.
- A value below the one before means a restart from zero. The increase is then the new value, a lower bound: events
  between the last reading and the restart are lost, so that span is counted but not alive.
- Across a longer gap the time of the increase is unknown: it is not counted, and the gap is not alive.
- A counter that begins with no more than max_gap_s of its own rate began at zero then: its first value is counted.
- The total of several counters is alive where at least one of them is read and none is in doubt. A counter silent for
  at most ended_after_s was merely not read: the whole silence is in doubt. One silent for longer has ended, and a new
  one has begun; its counts after its last and before its first reading are unknown, so max_gap_s after its end and
  before its beginning are in doubt. It is taken to have ended once other counters were read after ended_after_s; until
  then, that long after its last reading is in doubt.
- A doubt is about one counter's events, at its own rate: after its end those between two of its readings. A window
  whose doubtful events are at most MAX_DOUBT of its count is alive, also where one counter ends just before the next.

So the state of a moment depends only on readings from twice ended_after_s before it to twice that after it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from forecasting.arrays import Flags, Floats
from forecasting.arrivals.arrival_source import SourceArrivals
from forecasting.arrivals.coverage import Int64s, merged_spans, spans_between_breaks, spans_without
from forecasting.arrivals.grid import SECOND_US, to_us, whole_windows
from forecasting.errors import HistoryError

LARGEST = 2.0**62

MAX_DOUBT = 0.05
"""Largest share of a window's count that may be in doubt while the window counts as observed."""


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
        return int(edges_us[0]) - 2 * self.ended_after_us, int(edges_us[-1]) + 2 * self.ended_after_us


@dataclass(frozen=True)
class KnownSpans:
    """Spans in which every increase of one counter is known; a lone reading is a span of length zero.

    spans_us: shape (spans, 2), sorted and disjoint. per_us: events per microsecond at both ends of each span, of the
    same shape; infinite if unknown. usual_gap_us: between readings there, of the same shape. in_silence_per_us: after
    each span but the last, shape (spans - 1,): of a silence that the counter's values bridge; infinite after a fall.
    from_zero: whether the counter began at zero at the span's beginning, shape (spans,).
    """

    spans_us: Int64s
    per_us: Floats
    usual_gap_us: Floats
    in_silence_per_us: Floats
    from_zero: Flags


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
        if (bad := ~counts_of_events(self.values)).any():
            raise HistoryError(
                f"a reading is {self.values[bad][0]:g}; a counter is a number from 0, so read a counter, not a gauge"
            )

    def counts(self, edges_us: Int64s, gaps: ReadingGaps) -> Int64s:
        """Increase between consecutive edges, shape (edges - 1,), as far as its time is known."""
        known = np.diff(self.times_us) <= gaps.max_gap_us
        before, after = self.values[:-1][known], self.values[1:][known]
        fell = after < before
        spans_us = np.column_stack([self.times_us[:-1], self.times_us[1:]])[known]
        firsts, _, begins_us, _ = self._spans(gaps)
        began = begins_us < self.times_us[firsts]
        spans_us = np.concatenate([spans_us, np.column_stack([begins_us, self.times_us[firsts]])[began]])
        before = np.concatenate([np.where(fell, 0.0, before), np.zeros(int(began.sum()))])
        after = np.concatenate([after, self.values[firsts][began]])
        order = np.argsort(spans_us[:, 0], kind="stable")
        return spread_counts(spans_us[order], before[order], after[order], edges_us)

    def known(self, gaps: ReadingGaps) -> KnownSpans:
        firsts, lasts, begins_us, from_zero = self._spans(gaps)
        per_us, gap_us = self._rates(firsts, lasts, gaps)
        rise = self.values[firsts[1:]] - self.values[lasts[:-1]]
        silence_us = self.times_us[firsts[1:]] - self.times_us[lasts[:-1]]
        return KnownSpans(
            spans_us=np.column_stack([begins_us, self.times_us[lasts]]),
            per_us=per_us,
            usual_gap_us=gap_us,
            in_silence_per_us=np.where(rise >= 0, rise / np.maximum(silence_us, 1), per_us[:-1, 1]),
            from_zero=from_zero,
        )

    def _spans(self, gaps: ReadingGaps) -> tuple[Int64s, Int64s, Int64s, Flags]:
        """Of each known span its first and last reading's index, its beginning, and whether it began at zero there."""
        silences_us = np.diff(self.times_us)
        breaks = (silences_us > gaps.max_gap_us) | (np.diff(self.values) < 0)
        index = np.arange(self.times_us.size, dtype=np.int64)
        firsts, lasts = spans_between_breaks(breaks, index, index).T
        new = np.concatenate([[True], silences_us > gaps.ended_after_us])[firsts] if firsts.size else np.zeros(0, bool)
        (per_us, _), value = (
            self._rates(firsts, lasts, gaps)[0].T if firsts.size else np.zeros((2, 0)),
            self.values[firsts],
        )
        age_us = np.divide(value, per_us, out=np.full(value.size, math.inf), where=(per_us > 0) & np.isfinite(per_us))
        age_us[value == 0] = 0.0
        from_zero = new & (age_us <= gaps.max_gap_us)
        begins_us = self.times_us[firsts] - np.where(from_zero, age_us, 0.0).astype(np.int64)
        return firsts, lasts, begins_us, from_zero

    def _rates(self, firsts: Int64s, lasts: Int64s, gaps: ReadingGaps) -> tuple[Floats, Floats]:
        """Events per microsecond, infinite if unknown, and the mean gap between readings, at both ends of each span, by
        its readings up to ended_after_us from that end. Shape (spans, 2) each.
        """
        times_us, values = self.times_us, self.values
        until = np.searchsorted(times_us, times_us[firsts] + gaps.ended_after_us, side="right") - 1
        since = np.searchsorted(times_us, times_us[lasts] - gaps.ended_after_us)
        per_us, gap_us = [], []
        for begin, end in ((firsts, np.minimum(until, lasts)), (np.maximum(since, firsts), lasts)):
            long_us, several = times_us[end] - times_us[begin], end > begin
            rise = values[end] - values[begin]
            per_us.append(np.divide(rise, long_us, out=np.full(rise.size, math.inf), where=several))
            gap_us.append(np.divide(long_us, end - begin, out=np.full(rise.size, math.inf), where=several))
        return np.column_stack(per_us), np.column_stack(gap_us)


def counts_of_events(values: Floats) -> Flags:
    """Which values a counter can have, shape (readings,)."""
    return np.asarray((values >= 0) & (values < LARGEST))


def window_edges_us(start: datetime, end: datetime, window_s: int) -> Int64s:
    """Edges of the windows of [start, end), shape (windows + 1,). Raises HistoryError if it is off the grid."""
    for moment, whole in zip((start, end), whole_windows(start, end, window_s), strict=True):
        if moment != whole:
            raise HistoryError(f"{moment} is not on the grid of windows of {window_s} s; the edge before it is {whole}")
    width_us = window_s * SECOND_US
    return np.arange(to_us(start), to_us(end) + width_us, width_us, dtype=np.int64)


def total_of(
    counters: Sequence[CounterReadings], edges_us: Int64s, gaps: ReadingGaps, damaged_us: Int64s | None = None
) -> SourceArrivals:
    """The total of all counters of one source, in any order. damaged_us: times of readings that are no counts."""
    counts = np.zeros(edges_us.size - 1, dtype=np.int64)
    rows = np.zeros_like(counts)
    for counter in counters:
        counts += counter.counts(edges_us, gaps)
        rows += np.diff(np.searchsorted(counter.times_us, edges_us))
    known = [spans for counter in counters if (spans := counter.known(gaps)).spans_us.size]
    alive = _alive(known, counts, edges_us, gaps)
    tallies = {"rows_read": rows}
    if damaged_us is not None and damaged_us.size:
        tallies["damaged"] = np.diff(np.searchsorted(np.sort(damaged_us), edges_us)).astype(np.int64)
        tallies["rows_read"] = rows + tallies["damaged"]
    return SourceArrivals(counts, clipped(alive, edges_us), tallies=tallies)


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
    doubts = np.concatenate([_doubts(spans, anyone, gaps)[0] for spans in nonempty])
    return spans_without(anyone, merged_spans((int(begin), int(end)) for begin, end in doubts))


def _alive(known: Sequence[KnownSpans], counts: Int64s, edges_us: Int64s, gaps: ReadingGaps) -> Int64s:
    """As alive_together, but for the windows of which hardly anything is in doubt."""
    if not known:
        return np.empty((0, 2), dtype=np.int64)
    anyone = merged_spans((int(begin), int(end)) for each in known for begin, end in each.spans_us)
    several = [_doubts(each.spans_us, anyone, gaps, each) for each in known]
    doubts, per_us = (np.concatenate(parts) for parts in zip(*several, strict=True))
    doubtful = (doubts[:, 0] < doubts[:, 1]) & (per_us > 0)
    doubts, per_us = doubts[doubtful], per_us[doubtful]
    few = _events(doubts, per_us, edges_us) <= MAX_DOUBT * counts
    sure = merged_spans(zip(edges_us[:-1][few].tolist(), edges_us[1:][few].tolist(), strict=True))
    merged = merged_spans((int(begin), int(end)) for begin, end in doubts)
    unsure = spans_without(merged, sure)
    # Between the last reading of one counter and the first of the next nobody is read: no more than the same doubt.
    read = np.concatenate([anyone, clipped(spans_without(merged, unsure), anyone.reshape(-1))])
    return spans_without(merged_spans((int(begin), int(end)) for begin, end in read), unsure)


def _events(spans_us: Int64s, per_us: Floats, edges_us: Int64s) -> Floats:
    """Events of all spans, which may overlap, between consecutive edges, shape (edges - 1,)."""
    far = np.isinf(per_us)
    unknown = np.zeros(edges_us.size - 1, dtype=np.bool_)
    for begin, end in merged_spans((int(begin), int(end)) for begin, end in spans_us[far]):
        unknown |= (edges_us[:-1] < end) & (edges_us[1:] > begin)
    so_far = np.zeros(edges_us.size)
    for moments, sign in ((spans_us[~far, 0], 1.0), (spans_us[~far, 1], -1.0)):
        order = np.argsort(moments)
        at, rates = (moments[order] - edges_us[0]).astype(np.float64), per_us[~far][order]
        number = np.searchsorted(at, edges_us - edges_us[0], side="right")
        rate, begun = (np.concatenate([[0.0], np.cumsum(each)])[number] for each in (rates, rates * at))
        so_far += sign * (rate * (edges_us - edges_us[0]) - begun)
    return np.where(unknown, math.inf, np.diff(so_far))


def clipped(spans: Int64s, edges_us: Int64s) -> Int64s:
    """The spans clipped to the range of the edges."""
    within = np.clip(spans, edges_us[0], edges_us[-1])
    return within[within[:, 0] < within[:, 1]]


def _doubts(spans: Int64s, anyone: Int64s, gaps: ReadingGaps, known: KnownSpans | None = None) -> tuple[Int64s, Floats]:
    """Spans in which one counter may have counted unread events, and how many per microsecond, infinite if unknown."""
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
    if known is None:
        return np.concatenate([after, before]), np.full(2 * len(spans), math.inf)
    # A counter that is read again and again ends between two readings, and begins so.
    begin_per_us, end_per_us = (known.per_us * np.minimum(known.usual_gap_us / gaps.max_gap_us, 1.0)).T
    end_per_us = np.where(seen_after, end_per_us, known.per_us[:, 1])
    begin_per_us = np.where(known.from_zero, 0.0, begin_per_us)
    end_per_us[:-1][only_unread] = known.in_silence_per_us[only_unread]
    begin_per_us[1:][only_unread] = 0.0  # the same silence, counted once
    return np.concatenate([after, before]), np.concatenate([end_per_us, begin_per_us])


def _rounded(values: Floats) -> Int64s:
    """Rounds halves up: rounding to even would make equal increases differ."""
    whole = np.floor(values)
    return whole.astype(np.int64) + (values - whole >= 0.5)
