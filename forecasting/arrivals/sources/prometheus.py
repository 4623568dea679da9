"""Arrivals from counters scraped by Prometheus or a compatible server.

Raw samples are read by range selectors (`selector[…]`): with the time of each scrape, and nothing if none was made. No
rate() or increase(), no steps, no extrapolation and no repeats of a stale sample; counter_readings explains how counts
follow from samples.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from pydantic import SecretStr

from engines.prometheus.server import POINTS_PER_PAGE, Labels, PrometheusServer
from forecasting.arrays import Floats
from forecasting.arrivals.arrival_source import MAX_DAMAGED, Arrivals, Measures, SourceArrivals
from forecasting.arrivals.coverage import Int64s, merged_spans, spans_without
from forecasting.arrivals.grid import SECOND_US, from_us, to_us
from forecasting.arrivals.sources.counter_readings import (
    CounterReadings,
    ReadingGaps,
    clipped,
    counts_of_events,
    total_of,
    window_edges_us,
)
from forecasting.arrivals.sources.series_copies import series_copies, without_copies
from forecasting.errors import HistoryError

MILLISECOND_US = 1000
_SEARCH_S = 3600

log = logging.getLogger(__name__)


class _ServerError(HistoryError):
    """Of the server, which its text names."""


class Prometheus:
    """Counters of a topology's sources.

    queries: source → selector of its counters, such as `events_total{job="feed"}`; the series of a source are summed,
    so each event must be counted by only one of them.
    scrape_interval_s: how often the counters are scraped. max_gap_s: longest known gap between two samples; None: four
    scrape intervals. ended_after_s: a series silent for longer has ended, one silent for less was merely not scraped;
    None: ten minutes, or max_gap_s if larger.
    deduplicate_by: a label that tells copies of one series apart, such as `replica`: of series that are equal but
    for it, one is counted.
    held_back: for throughput, an expression that is above 0 while something holds the sources back, evaluated at every
    scrape interval. Without a value the source counts as held back, so compare with `> bool`: a plain `>` has no value
    when it is false. None: all throughput counts as held back.
    headers: sent unchanged. ca_file: CA certificates for the server.
    page_points: maximum points per query. since: returned by first_moment, instead of searching.
    Raises HistoryError for inconsistent parameters.
    """

    forgets = True

    def __init__(
        self,
        url: str,
        queries: Mapping[str, str],
        *,
        measures: Measures = Measures.THROUGHPUT,
        scrape_interval_s: float = 15.0,
        max_gap_s: float | None = None,
        ended_after_s: float | None = None,
        deduplicate_by: str | None = None,
        held_back: str | None = None,
        headers: Mapping[str, SecretStr] | None = None,
        ca_file: str | None = None,
        timeout_s: float = 30.0,
        since: datetime | None = None,
        page_points: int = POINTS_PER_PAGE,
    ) -> None:
        self._server = PrometheusServer(url, _ServerError, timeout_s=timeout_s, headers=headers, ca_file=ca_file)
        self.place, self.measures = self._server.place, measures
        if not queries:
            raise HistoryError(f"{self.place}: no queries; give a selector per source, such as events_total")
        if blank := [source for source, selector in queries.items() if not selector.strip()]:
            raise HistoryError(
                f"{self.place}: the selector of source {blank[0]!r} is empty; give one like events_total"
            )
        if not 0.001 <= scrape_interval_s < math.inf:
            raise HistoryError(
                f"{self.place}: scrape_interval_s {scrape_interval_s}; give a positive number of seconds"
            )
        if not 1 <= page_points <= POINTS_PER_PAGE:
            raise HistoryError(f"{self.place}: page_points {page_points}; Prometheus gives 1 to {POINTS_PER_PAGE}")
        if held_back is not None and measures is Measures.OFFERED:
            raise HistoryError(f"{self.place}: held_back applies to throughput, not to offered load; leave it out")
        if since is not None and since.tzinfo is None:
            raise HistoryError(f"{self.place}: since {since} has no time zone; give it in UTC")
        gap_s = 4 * scrape_interval_s if max_gap_s is None else max_gap_s
        self._gaps = ReadingGaps(gap_s, max(600.0, gap_s) if ended_after_s is None else ended_after_s)
        self.unsettled_s = self._gaps.unsettled_s
        self._queries = dict(queries)
        self._held_back, self._deduplicate_by = held_back, deduplicate_by
        self._step_ms = round(scrape_interval_s * 1000)
        self._page_ms = page_points * self._step_ms
        self._since = since

    def __repr__(self) -> str:
        return f"<{self.place}: {', '.join(self._queries)}>"

    def first_moment(self) -> datetime:
        """Time of the oldest sample that the server still holds for any selector."""
        if self._since is not None:
            return self._since.astimezone(UTC)
        now_ms = to_us(datetime.now(UTC)) // MILLISECOND_US
        selectors = ", ".join(self._queries.values())
        if not self._server.has_series(self._queries.values(), now_ms):
            raise HistoryError(
                f"{self.place} holds no sample of {selectors}; check the selector and the server's targets"
            )
        # The index shows whether series exist up to a moment, so bisection finds the hour without reading samples.
        empty_ms, some_ms = 0, now_ms
        while some_ms - empty_ms > _SEARCH_S * 1000:
            middle_ms = (empty_ms + some_ms) // 2
            if self._server.has_series(self._queries.values(), middle_ms):
                some_ms = middle_ms
            else:
                empty_ms = middle_ms
        if empty_ms == 0:
            raise HistoryError(
                f"{self.place} reports {selectors} in 1970, so it ignores the requested times; give `since`"
            )
        while empty_ms < now_ms:
            until_ms = empty_ms + max(self._page_ms, 2 * _SEARCH_S * 1000)
            found = [self._server.samples(selector, empty_ms, until_ms) for selector in self._queries.values()]
            if times := [times_ms for samples in found for times_ms, _ in samples.values() if times_ms.size]:
                return from_us(min(int(first[0]) for first in times) * MILLISECOND_US)
            empty_ms = until_ms
        raise HistoryError(
            f"{self.place} lists series of {selectors} but gives no sample; see whether they were deleted"
        )

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        """Increases of the counters per window. A selector without samples is missing throughout."""
        edges_us = window_edges_us(start, end, window_s)
        held_back = self._held_back_spans(edges_us)
        sources = {}
        for source, selector in self._queries.items():
            try:
                series, damaged_us = self._counters(selector, edges_us)
                copies = series_copies(source, series)
                total = total_of([series[labels] for labels in sorted(series)], edges_us, self._gaps, damaged_us)
            except _ServerError:
                raise
            except HistoryError as error:
                raise HistoryError(f"{self.place}, selector {selector} of source {source!r}: {error}") from None
            sources[source] = SourceArrivals(total.counts, total.alive, held_back, total.tallies, copies)
        return Arrivals(start, end, window_s, self.measures, sources)

    def _counters(self, selector: str, edges_us: Int64s) -> tuple[dict[Labels, CounterReadings], Int64s]:
        """Counters by labels, and the times of samples that are no counts. Raises HistoryError for many of these."""
        begin_us, end_us = self._gaps.needed_us(edges_us)
        # Do not query the future; a minute allows for a server whose clock is ahead.
        end_us = min(end_us, to_us(datetime.now(UTC)) + 60 * SECOND_US)
        page_ms, last_ms = begin_us // MILLISECOND_US - 1, -(-end_us // MILLISECOND_US)
        series: dict[Labels, tuple[list[Int64s], list[Floats]]] = {}
        while page_ms < last_ms:
            until_ms = min(page_ms + self._page_ms, last_ms)
            for labels, (times_ms, values) in self._server.samples(selector, page_ms, until_ms).items():
                so_far = series.setdefault(labels, ([], []))
                so_far[0].append(times_ms * MILLISECOND_US)
                so_far[1].append(values)
            page_ms = until_ms
        counters, damaged, samples = {}, [], 0
        for labels, (times, counts) in series.items():
            # Up to version 2, Prometheus returns a sample at the border of two pages in both.
            moments, at = np.unique(np.concatenate(times), return_index=True)
            readings = np.concatenate(counts)[at]
            sound = counts_of_events(readings)
            counters[labels] = CounterReadings(moments[sound], readings[sound])
            damaged += list(zip(moments[~sound].tolist(), readings[~sound].tolist(), strict=True))
            samples += readings.size
        if damaged:
            self._check_damaged(damaged, samples)
        times_us = np.array([at_us for at_us, _ in damaged], dtype=np.int64)
        if self._deduplicate_by is not None:
            counters = without_copies(counters, self._deduplicate_by)
        return counters, times_us

    def _check_damaged(self, damaged: Sequence[tuple[int, float]], samples: int) -> None:
        """Logs samples that are no counts. Raises HistoryError if they are more than MAX_DAMAGED of all."""
        at_us, value = min(damaged)
        text = f"{len(damaged)} of {samples} samples are no counts, the first at {from_us(at_us):%Y-%m-%dT%H:%M:%SZ}"
        if len(damaged) > MAX_DAMAGED * samples:
            raise HistoryError(
                f"{text}: a reading is {value:g}; a counter is a number from 0, so read a counter, not a gauge"
            )
        log.warning("%s: %s (%g); they are set aside", self.place, text, value)

    def _held_back_spans(self, edges_us: Int64s) -> Int64s:
        if self.measures is Measures.OFFERED:
            return np.empty((0, 2), dtype=np.int64)
        interval = np.array([[edges_us[0], edges_us[-1]]], dtype=np.int64)
        if self._held_back is None:
            return interval
        step_us = self._step_ms * MILLISECOND_US
        grid_us = np.arange(edges_us[0] // step_us, -(-int(edges_us[-1]) // step_us) + 1, dtype=np.int64) * step_us
        free: set[int] = set()
        held: set[int] = set()
        for page in range(0, grid_us.size, self._page_ms // self._step_ms):
            last = min(page + self._page_ms // self._step_ms, grid_us.size) - 1
            begin_ms, end_ms = (int(moment) // MILLISECOND_US for moment in grid_us[[page, last]])
            for times_ms, values in self._server.values(self._held_back, begin_ms, end_ms, self._step_ms):
                held.update(times_ms[values > 0].tolist())
                free.update(times_ms[values <= 0].tolist())
        grid_ms = (grid_us // MILLISECOND_US).tolist()
        surely_free = np.array([moment in free and moment not in held for moment in grid_ms])
        # A span is free only if both its ends are.
        both = np.flatnonzero(surely_free[:-1] & surely_free[1:])
        spans = merged_spans((int(grid_us[at]), int(grid_us[at + 1])) for at in both)
        return clipped(spans_without(interval, spans), edges_us)
