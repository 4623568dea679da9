"""A commit in the making: parts are written date by date, and nothing that is in force is touched."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from forecasting.arrivals.arrival_source import KeyHistogram
from forecasting.arrivals.grid import from_us, to_us
from forecasting.arrivals.rows import SCHEMA, best_known, in_order, window_starts_us, with_own_columns
from forecasting.arrivals.storage.batches import Batch
from forecasting.arrivals.storage.key_histograms import histograms_of, histograms_table
from forecasting.arrivals.storage.layout import DAY_US, days_of, iso_date
from forecasting.arrivals.storage.manifest import Manifest
from forecasting.arrivals.storage.parts import KEYS, ROWS, read_part_in_force, write_part
from forecasting.errors import HistoryError


class Staging:
    """The files of the next commit: those of the one before, but for the dates of an interval that is replaced.

    Batches are added in order of time, within `with`: while one is written, the next can be made, and no more than one
    is held. All are on disk when `manifest` returns; at the end of `with` nothing writes any more. keep_known: windows
    of which the history knows more than the batch stay as they are.
    """

    def __init__(self, folder: Path, topology: str, before: Manifest | None, *, keep_known: bool = False) -> None:
        self._folder = folder
        self._keep_known = keep_known
        self._where = f"history of topology {topology!r}"
        self._before = before
        self._window_s = 0
        self._begin_us = self._end_us = 0
        self._days_left = range(0)
        self._parts = {} if before is None else dict(before.parts)
        self._keys = {} if before is None else dict(before.keys)
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.shutdown(cancel_futures=True)

    def add(self, batch: Batch) -> None:
        """Replace the dates up to the batch's last one. Raises HistoryError for one that does not come after those
        before, or has windows of another width.
        """
        known = self._window_s or (self._before.window_s if self._before else batch.window_s)
        if batch.window_s != known:
            raise HistoryError(
                f"{self._where} in {self._folder} has windows of {known} s, these rows {batch.window_s} s; keep to one "
                f"width, or remove {self._folder} and rebuild"
            )
        if not self._window_s:
            self._window_s = batch.window_s
            self._begin_us, self._end_us = to_us(batch.start), to_us(batch.end)
            self._days_left = days_of(batch.start, batch.end)
        if batch.days[0] < self._days_left.start:
            raise HistoryError(
                f"{self._where}: a batch starts on {iso_date(batch.days[0])}, one before it reached "
                f"{iso_date(self._days_left.start - 1)}; give batches of whole dates in order of time"
            )
        days = range(self._days_left.start, batch.days.stop)
        for day, rows in _by_day(batch.rows, days):
            self._replace(day, rows, batch.histograms.get(iso_date(day), {}))
        self._days_left = range(days.stop, self._days_left.stop)

    def manifest(self, committed_at: datetime, keep_s: float) -> Manifest:
        """What the commit holds: dates of the interval that no batch reached hold nothing of it."""
        if not self._window_s:
            raise HistoryError(f"{self._where}: there are no windows to write; give at least one")
        for day in self._days_left:
            self._replace(day, SCHEMA.empty_table(), {})
        self._await_writer()
        until = max(from_us(self._end_us), self._built_before())
        return Manifest(self._window_s, self._parts, self._keys, until, committed_at.astimezone(UTC), keep_s)

    def _replace(self, day: int, rows: pa.Table, histograms: Mapping[str, KeyHistogram]) -> None:
        self._await_writer()
        self._writing = self._writer.submit(self._write, day, rows, histograms)

    def _await_writer(self) -> None:
        if self._writing is not None:
            self._writing.result()

    def _write(self, day: int, rows: pa.Table, histograms: Mapping[str, KeyHistogram]) -> None:
        date = iso_date(day)
        folder = self._folder / f"date={date}"
        # A day that is replaced as a whole is not read before, so that building it again repairs it.
        whole = self._begin_us <= day * DAY_US and (day + 1) * DAY_US <= self._end_us
        if date in self._parts and (self._keep_known or not whole):
            old = with_own_columns(read_part_in_force(folder / self._parts[date]))
            starts_us = window_starts_us(old)
            outside = (starts_us < self._begin_us) | (starts_us >= self._end_us)
            if self._keep_known:
                rows = best_known(rows, old.filter(pa.array(~outside)))
            more_before = old.num_rows > rows.num_rows
            rows = in_order(pa.concat_tables([rows, old.filter(pa.array(outside))]))
            if date in self._keys:
                before = histograms_of(read_part_in_force(folder / self._keys[date]), date)
                # They cannot be added up, as nothing tells what of the day they share: the one of more windows stays.
                histograms = {**histograms, **before} if more_before else {**before, **histograms}
        self._parts.pop(date, None)
        self._keys.pop(date, None)
        if rows.num_rows:
            self._parts[date] = write_part(folder, ROWS, rows.combine_chunks())
        if histograms:
            self._keys[date] = write_part(folder, KEYS, histograms_table(histograms.values()))

    def _built_before(self) -> datetime:
        if self._before is None or self._before.built_until is not None:
            return self._before.built_until if self._before and self._before.built_until else from_us(self._end_us)
        # A writer of format 1 took no note of it: its last window tells.
        return last_window_end(self._folder, Manifest(self._window_s, self._parts))


def last_window_end(folder: Path, manifest: Manifest) -> datetime:
    """End of the last window that a commit holds, whatever its status."""
    date = max(manifest.parts)
    starts_us = window_starts_us(read_part_in_force(folder / f"date={date}" / manifest.parts[date]))
    return from_us(starts_us.max()) + timedelta(seconds=manifest.window_s)


def _by_day(rows: pa.Table, days: range) -> Iterator[tuple[int, pa.Table]]:
    """Each day with its rows, which keep their order."""
    of_row = window_starts_us(rows) // DAY_US
    if of_row[0] != of_row.max() or of_row[0] != of_row.min():
        order = np.argsort(of_row, kind="stable")
        rows, of_row = rows.take(pa.array(order)), of_row[order]
    edges = np.searchsorted(of_row, np.arange(days.start, days.stop + 1))
    for day, first, last in zip(days, edges[:-1], edges[1:], strict=True):
        yield day, rows.slice(first, last - first)
