"""Counts rows of events per source and bin, and sets aside those that do not count, by reason.

Tallies are Arrow tables with schema TALLY, sparse and additive: concatenating the tallies of two batches gives the
tally of both. A bin is a window, or a part of one if windows are longer than the silence that marks a dead feed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from forecasting.arrays import Flags
from forecasting.arrivals.counting.event_batch import Coded, EventBatch
from forecasting.arrivals.coverage import Int64s


class TallyKind(IntEnum):
    """What an entry of a tally counts. COUNT: events. All others but the last two count rows.

    FIRST, LAST: times of the bin's first and last event in microseconds, only if they may end a span in which the feed
    was alive. They merge by minimum and maximum, not by sum.
    """

    COUNT = 0
    ROWS = 1
    DUPLICATES = 2
    LATE = 3
    FUTURE = 4
    UNSET_CLOCK = 5
    SKIPPED_HOUR = 6
    AMBIGUOUS = 7
    FIRST = 8
    LAST = 9


TALLY = pa.schema(
    [
        pa.field("source", pa.dictionary(pa.int32(), pa.string())),
        pa.field("bin", pa.int32()),
        pa.field("of", pa.int8()),
        pa.field("number", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Bins:
    """The bins of an interval and of a margin around it; all times in microseconds since the epoch.

    begin_us, end_us: the interval, on the grid of windows. margin_us: how far beyond it events show whether the feed
    was alive. window_us: width of a window. silence_us: longest silence of a live feed; no bin is longer.
    """

    begin_us: int
    end_us: int
    window_us: int
    margin_us: int
    silence_us: int

    @property
    def low_us(self) -> int:
        """Start of the first bin."""
        return (self.begin_us - self.margin_us) // self.window_us * self.window_us

    @property
    def high_us(self) -> int:
        """End of the last bin."""
        return -(-(self.end_us + self.margin_us) // self.window_us) * self.window_us

    @property
    def width_us(self) -> int:
        return max(1, min(self.window_us, self.silence_us))

    @property
    def per_window(self) -> int:
        return -(-self.window_us // self.width_us)

    def of(self, time_us: Int64s) -> Int64s:
        """The bin of each time in [low_us, high_us)."""
        into = time_us - self.low_us
        # Float division is exact up to 2^53 microseconds (285 years) and several times faster.
        window = (into / self.window_us).astype(np.int64)
        if self.per_window == 1:
            return window
        return window * self.per_window + (into - window * self.window_us) // self.width_us

    def starts_us(self, bins: Int64s) -> Int64s:
        window, part = np.divmod(bins, self.per_window)
        return np.asarray(self.low_us + window * self.window_us + part * self.width_us)

    def windows(self, bins: Int64s) -> Int64s:
        """Window of each bin, counted from begin_us; negative before it."""
        return bins // self.per_window - (self.begin_us - self.low_us) // self.window_us


@dataclass(frozen=True)
class Rules:
    """Which rows count. Times in microseconds since the epoch.

    not_before_us, ahead_us, lateness_us: see EventFiles. now_us: without arrival times, rows more than ahead_us after
    it are in the future. spans: whether the times of first and last events are wanted.
    """

    bins: Bins
    now_us: int
    ahead_us: int
    not_before_us: int
    lateness_us: int
    spans: bool = True
    arrivals: bool = False
    """Whether there is a column of arrival times."""

    @property
    def future_us(self) -> int:
        """Rows stamped later may be in the future."""
        return self.bins.high_us if self.arrivals else self.now_us + self.ahead_us

    @property
    def newest_us(self) -> int:
        """End of the newest window that has ended. Rows without a trustworthy time are reported there.

        Only intervals that reach now contain it, so no row is reported twice.
        """
        return self.now_us // self.bins.window_us * self.bins.window_us - 1


@dataclass(frozen=True)
class Triage:
    """The rows of a batch, counted or set aside. counted: rows that count and lie in the bins; None for all."""

    counted: Flags | None
    set_aside: tuple[tuple[TallyKind, Int64s], ...]
    """Indices of the rows set aside, by reason."""


def triaged(batch: EventBatch, rules: Rules) -> Triage:
    """The outcome of each row. A row is set aside for one reason only, the first that applies."""
    time_us, bins = batch.time_us, rules.bins
    if time_us.size == 0:
        return Triage(None, ())
    first, last = int(time_us.min()), int(time_us.max())
    plain = batch.arrived_us is None and batch.skipped is None
    if plain and rules.not_before_us <= first and last <= rules.now_us + rules.ahead_us:
        if bins.low_us <= first and last < bins.high_us:
            return Triage(None, ())
        return Triage((time_us >= bins.low_us) & (time_us < bins.high_us), ())
    came_us = np.int64(rules.now_us) if batch.arrived_us is None else batch.arrived_us
    reasons = [
        (TallyKind.UNSET_CLOCK, time_us < rules.not_before_us),
        (TallyKind.FUTURE, time_us > came_us + rules.ahead_us),
    ]
    if batch.skipped is not None:
        reasons.append((TallyKind.SKIPPED_HOUR, batch.skipped))
    if batch.arrived_us is not None:
        closes_us = (time_us // bins.window_us + 1) * bins.window_us + rules.lateness_us
        reasons.append((TallyKind.LATE, batch.arrived_us >= closes_us))
    free = np.ones(time_us.size, bool)
    set_aside = []
    for reason, holds in reasons:
        if (rows := np.flatnonzero(free & holds)).size:
            set_aside.append((reason, rows))
            free[rows] = False
    return Triage(free & (time_us >= bins.low_us) & (time_us < bins.high_us), tuple(set_aside))


def tally(batch: EventBatch, triage: Triage, rules: Rules) -> pa.Table:
    """The tally of a batch, of the schema TALLY."""
    bins, source = rules.bins, batch.source
    chosen = slice(None) if triage.counted is None else triage.counted
    codes, time_us = source.codes[chosen], batch.time_us[chosen]
    parts = []
    if time_us.size:
        groups = _Groups.of(codes, bins.of(time_us), len(source.names))
        rows = groups.totals(None)
        if batch.weight is None:
            parts.append(groups.table(TallyKind.COUNT, rows, source))
        else:
            parts.append(groups.table(TallyKind.COUNT, groups.totals(batch.weight[chosen]), source, keep_zero=True))
            parts.append(groups.table(TallyKind.ROWS, rows, source))
        if rules.spans:
            parts.extend(_ends_of_spans(groups, time_us, rows, bins, source))
        if batch.later_us is not None:
            parts.extend(_unsure(codes, time_us, batch.later_us[chosen], bins, source))
    for reason, at in triage.set_aside:
        home_us = _home_us(batch, reason, at, rules)
        inside = (home_us >= bins.low_us) & (home_us < bins.high_us)
        if inside.any():
            groups = _Groups.of(source.codes[at][inside], bins.of(home_us[inside]), len(source.names))
            parts.append(groups.table(reason, groups.totals(None), source))
    return pa.concat_tables([TALLY.empty_table(), *parts])


def merged_tally(tables: Iterable[pa.Table]) -> pa.Table:
    """The same tally with one number per source, bin and kind."""
    whole = pa.concat_tables([TALLY.empty_table(), *tables]).unify_dictionaries().combine_chunks()
    if whole.num_rows == 0:
        return whole
    source = whole["source"].chunk(0)
    codes, bins = source.indices.to_numpy(), whole["bin"].to_numpy()
    kinds, numbers = whole["of"].to_numpy(), whole["number"].to_numpy()
    names = Coded(codes, source.dictionary.to_pylist())
    parts = []
    for kind in np.unique(kinds):
        at = kinds == kind
        groups = _Groups.of(codes[at], bins[at].astype(np.int64), len(names.names))
        match kind:
            case TallyKind.FIRST:
                merged = groups.smallest(numbers[at])
            case TallyKind.LAST:
                merged = -groups.smallest(-numbers[at])
            case _:
                merged = groups.totals(numbers[at])
        parts.append(groups.table(TallyKind(kind), merged, names, keep_zero=True))
    return pa.concat_tables(parts)


def _home_us(batch: EventBatch, reason: TallyKind, at: Int64s, rules: Rules) -> Int64s:
    """The time under which rows are set aside: their own if it can be trusted, else their arrival."""
    if reason in (TallyKind.LATE, TallyKind.SKIPPED_HOUR):
        return batch.time_us[at]
    if batch.arrived_us is not None:
        return batch.arrived_us[at]
    # Their arrival is unknown.
    return np.full(at.size, rules.newest_us)


def _unsure(
    codes: npt.NDArray[np.integer], time_us: Int64s, later_us: Int64s, bins: Bins, source: Coded
) -> Iterable[pa.Table]:
    """Rows in a repeated hour that may belong to another window, entered in both. later_us: to the other hour."""
    moved = np.flatnonzero(later_us)
    moved = moved[time_us[moved] // bins.window_us != (time_us + later_us)[moved] // bins.window_us]
    for at_us in (time_us[moved], (time_us + later_us)[moved]):
        inside = (at_us >= bins.low_us) & (at_us < bins.high_us)
        groups = _Groups.of(codes[moved][inside], bins.of(at_us[inside]), len(source.names))
        yield groups.table(TallyKind.AMBIGUOUS, groups.totals(None), source)


def _ends_of_spans(groups: "_Groups", time_us: Int64s, rows: Int64s, bins: Bins, source: Coded) -> Iterable[pa.Table]:
    """First and last times of the bins without a close neighbour in this batch.

    A bin whose neighbours on both sides are too close for a silence ends no span, whatever other batches hold.
    """
    safe = (bins.silence_us - bins.width_us) // bins.width_us
    filled = np.flatnonzero(rows)
    owner, at = groups.owner[filled], groups.bin[filled]
    close = (np.diff(at) <= safe) & (np.diff(owner) == 0) if bins.per_window == 1 else np.zeros(filled.size - 1, bool)
    alone = np.zeros(rows.size, bool)
    alone[filled] = ~(np.concatenate([[False], close]) & np.concatenate([close, [False]]))
    chosen = alone[groups.group]
    ends = _Groups.of(groups.owner[groups.group[chosen]], groups.bin[groups.group[chosen]], len(source.names))
    yield ends.table(TallyKind.FIRST, ends.smallest(time_us[chosen]), source, keep_zero=True)
    yield ends.table(TallyKind.LAST, -ends.smallest(-time_us[chosen]), source, keep_zero=True)


@dataclass(frozen=True)
class _Groups:
    """Rows grouped by source and bin: the group of each row, and the source (code) and bin of each group in order.

    Groups may be empty if the grid of sources and bins is small enough to be stored densely.
    """

    group: npt.NDArray[np.integer]
    owner: npt.NDArray[np.integer]
    bin: Int64s

    @classmethod
    def of(cls, codes: npt.NDArray[np.integer], bins: Int64s, sources: int) -> "_Groups":
        if bins.size == 0:
            return cls(bins, bins, bins)
        low = int(bins.min())
        width = int(bins.max()) - low + 1
        grid = codes.astype(np.int64) * width + (bins - low)
        if sources * width <= 4 * bins.size + 65536:
            cells = np.arange(sources * width)
            return cls(grid, cells // width, low + cells % width)
        cells, group = np.unique(grid, return_inverse=True)
        return cls(group, cells // width, low + cells % width)

    def totals(self, numbers: npt.NDArray[np.generic] | None) -> Int64s:
        """Sum per group, or rows per group if numbers is None. Exact up to 2^53."""
        return np.bincount(self.group, numbers, minlength=self.owner.size).astype(np.int64)

    def smallest(self, numbers: Int64s) -> Int64s:
        """Minimum per group; the largest int64 if a group is empty."""
        result = np.full(self.owner.size, np.iinfo(np.int64).max)
        np.minimum.at(result, self.group, numbers)
        return result

    def table(self, of: TallyKind, numbers: Int64s, source: Coded, *, keep_zero: bool = False) -> pa.Table:
        """The numbers as a tally, without empty groups and, unless keep_zero, without zeros."""
        kept = np.bincount(self.group, minlength=self.owner.size) > 0 if keep_zero else numbers != 0
        codes = pa.DictionaryArray.from_arrays(
            pa.array(self.owner[kept].astype(np.int32)), pa.array(source.names, pa.string())
        )
        kind = np.full(int(kept.sum()), of, np.int8)
        return pa.table([codes, self.bin[kept].astype(np.int32), kind, numbers[kept]], schema=TALLY)
