"""Arrivals from raw events in files, counted by Spark: duplicates once, late and wrongly stamped rows set aside."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from forecasting.arrivals.arrival_source import MAX_DAMAGED, Arrivals, Measures, SourceArrivals
from forecasting.arrivals.counting.event_files import EventFiles
from forecasting.arrivals.counting.key_counts import key_histograms
from forecasting.arrivals.counting.parquet_rows import RowGroup, row_groups
from forecasting.arrivals.counting.source_tally import by_source
from forecasting.arrivals.counting.tally import Bins, Rules, TallyKind
from forecasting.arrivals.coverage import Int64s, read_coverage, spans_without
from forecasting.arrivals.grid import DAY_S, SECOND_US, from_us, to_us, whole_windows
from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MAX_BINS = 2**31 - 1

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CountedEvents:
    """An ArrivalSource over event files.

    now: without a column of arrival times, rows stamped well after it are in the future.
    Sources are those of the coverage file and of the events.
    """

    forgets = False
    """Files are authoritative: events removed from them, or withdrawn by a coverage file, were never known."""

    spark: "SparkSession"
    files: EventFiles
    now: datetime
    _damaged: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    """The number of damaged rows, once a read has met one."""

    @property
    def place(self) -> str:
        return f"events in {self.files.path}"

    @property
    def measures(self) -> Measures:
        return self.files.measures

    @property
    def unsettled_s(self) -> float:
        """Late rows count, and the next event ends a silence."""
        return max(self.files.lateness_s, self.files.max_silence_s + self.files.span_s)

    def first_moment(self) -> datetime:
        """Time of the first event whose clock was set, or the start of the coverage file, if earlier.

        Raises HistoryError if there is no event.
        """
        not_before_us = to_us(self.files.not_before)
        if self._row_groups is not None and all(g.first_us >= not_before_us for g in self._row_groups if g.rows):
            first_us = min((group.first_us for group in self._row_groups if group.rows), default=None)
        else:
            first_us = self._first_of_rows(not_before_us)
        if first_us is None:
            raise HistoryError(f"{self.files.path} holds no event; check the path, or wait for the first events")
        if self.files.coverage is not None:
            spans = read_coverage(self.files.coverage, self.files.timezone).values()
            first_us = min(first_us, *(int(of_source[0, 0]) for of_source in spans))
        return from_us(first_us)

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        from forecasting.arrivals.counting.spark_count import count

        files = self.files
        if whole_windows(start, end, window_s) != (start, end):
            raise HistoryError(
                f"{self.place}: the interval {start} to {end} is not made of whole windows of {window_s} s; align it"
            )
        coverage = None if files.coverage is None else read_coverage(files.coverage, files.timezone)
        rules = Rules(
            self._bins(start, end, window_s),
            now_us=to_us(self.now),
            ahead_us=int(files.max_ahead_s * SECOND_US),
            not_before_us=to_us(files.not_before),
            lateness_us=int(files.lateness_s * SECOND_US),
            spans=coverage is None,
            arrivals=files.columns.arrived is not None,
        )
        counted = count(self.spark, lambda: self._raw, self._row_groups, files, rules)
        if counted.unusable and not self._damaged:
            self._damaged.append(self._set_aside())
        # A row whose time is readable is met by one of several reads alone, and told by the last of them.
        damaged = sum(self._damaged)
        found = by_source(counted.tally, rules.bins, weighted=files.columns.weight is not None)
        if coverage is None:
            alive = {name: tallied.alive(rules.bins, files.span_s) for name, tallied in found.items()}
        else:
            alive = dict(coverage)
            self._check_coverage(found, coverage)
        held_back = np.array([[to_us(start), to_us(end)]])[: self.measures is Measures.THROUGHPUT]
        windows = (to_us(end) - to_us(start)) // rules.bins.window_us
        none = SourceArrivals(np.zeros(windows, np.int64), np.empty((0, 2), np.int64))
        sources = {}
        for name, spans in alive.items():
            tallied = found.get(name)
            sources[name] = SourceArrivals(
                tallied.dense(TallyKind.COUNT) if tallied else none.counts,
                spans_without(spans, tallied.unsure(rules.bins)) if tallied else spans,
                held_back,
                tallied.tallies() if tallied else {},
            )
        if damaged and sources and 0 <= (newest := (rules.newest_us - to_us(start)) // rules.bins.window_us) < windows:
            # Like all rows without a trustworthy time. Without a source either, they count with the largest.
            name = max(sources, key=lambda each: int(sources[each].counts.sum()))
            sources[name] = _with_damaged(sources[name], int(newest), damaged)
        return Arrivals(start, end, window_s, self.measures, sources, key_histograms(counted.keys))

    def _set_aside(self) -> int:
        """The number of damaged rows in all files. Raises HistoryError if they are too many."""
        from forecasting.arrivals.counting.spark_rows import row_problem

        problem = row_problem(self._raw, self.files)
        if problem.damaged > MAX_DAMAGED * problem.rows:
            raise HistoryError(problem.text)
        log.warning("%s; they are set aside", problem.text)
        return problem.damaged

    def _bins(self, start: datetime, end: datetime, window_s: int) -> Bins:
        files = self.files
        if files.span_s > window_s:
            raise HistoryError(
                f"{self.place}: windows of {window_s} s are narrower than the {files.span_s:g} s that a row stands "
                "for; make them as wide"
            )
        silence_us, span_us = max(1, int(files.max_silence_s * SECOND_US)), int(files.span_s * SECOND_US)
        # An event in a repeated hour may belong to a window that much later.
        repeated_us = 0 if files.timezone == "UTC" else DAY_S * SECOND_US
        bins = Bins(to_us(start), to_us(end), window_s * SECOND_US, silence_us + max(span_us, repeated_us), silence_us)
        if (number := (bins.high_us - bins.low_us) // bins.window_us * bins.per_window) > _MAX_BINS:
            raise HistoryError(
                f"{self.place}: {number} silences of {files.max_silence_s:g} s fit between {start} and {end}; allow "
                "longer ones, or give a shorter interval"
            )
        return bins

    def _check_coverage(self, found: Mapping[str, object], coverage: Mapping[str, Int64s]) -> None:
        if unknown := sorted(set(found) - set(coverage)):
            raise HistoryError(
                f"events in {self.files.path} come from source {unknown[0]!r}, which coverage file "
                f"{self.files.coverage} does not list ({', '.join(sorted(coverage))}); add when it was alive, or "
                "correct its name"
            )

    def _first_of_rows(self, not_before_us: int) -> int | None:
        from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows

        from forecasting.arrivals.counting.spark_rows import event_rows, reading, row_problem

        time = F.col("time")
        with reading(self.files):
            row = (
                event_rows(self._raw, self.files)
                .agg(F.min(F.when(time >= F.lit(not_before_us), time)), F.count(F.lit(1)))
                .first()
            )
        assert row is not None
        if row[0] is None and row[1]:
            raise HistoryError(row_problem(self._raw, self.files).text)
        return None if row[0] is None else int(row[0])

    @cached_property
    def _raw(self) -> "DataFrame":
        from forecasting.arrivals.counting.spark_rows import loaded

        return loaded(self.spark, self.files)

    @cached_property
    def _row_groups(self) -> list[RowGroup] | None:
        from forecasting.arrivals.counting.spark_rows import file_names

        names = file_names(self.spark, self.files)
        return row_groups(names, self.files) if names else None


def _with_damaged(arrivals: SourceArrivals, window: int, damaged: int) -> SourceArrivals:
    """The same with damaged rows in one window."""
    rows = np.zeros(arrivals.counts.size, np.int64)
    rows[window] = damaged
    read = arrivals.tallies.get("rows_read", np.zeros_like(rows))
    return replace(arrivals, tallies={**arrivals.tallies, "damaged": rows, "rows_read": read + rows})
