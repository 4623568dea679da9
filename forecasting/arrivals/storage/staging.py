"""Prepares a commit: parts are written date by date, without touching anything in force."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.feather

from forecasting.arrivals.arrival_source import DailyKeyCounts
from forecasting.arrivals.grid import from_us, to_us
from forecasting.arrivals.rows import SCHEMA, best_known, in_order, window_starts_us, with_own_columns
from forecasting.arrivals.storage.batches import Batch
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.key_histograms import histograms_of, histograms_table
from forecasting.arrivals.storage.layout import DAY_US, days_of, iso_date
from forecasting.arrivals.storage.manifest import Manifest, of_date, read_manifest
from forecasting.arrivals.storage.parts import KEYS, ROWS, read_part, read_part_in_force, write_part
from forecasting.errors import HistoryError


class Staging:
    """The files of the next commit: those of the previous one, except for the dates of a replaced interval.

    Add batches in order of time, within `with`. While one is written the next can be made, and at most one is held. All
    are on disk when `manifest` returns; the end of `with` stops all writing. keep_known: windows that the history knows
    better than the batch stay as they are. In a shared folder, the change can be reapplied to another writer's commit.
    """

    def __init__(self, folder: Folder, topology: str, before: Manifest | None, *, keep_known: bool = False) -> None:
        self._folder = folder
        self._keep_known = keep_known
        self._where = f"history of topology {topology!r}"
        self._before = before
        self._window_s = 0
        self._begin_us = self._end_us = 0
        self._days_left = range(0)
        self._parts = {} if before is None else dict(before.parts)
        self._keys = {} if before is None else dict(before.keys)
        self._own = OwnChanges() if folder.shared else None
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.shutdown(cancel_futures=True)
        if self._own is not None:
            self._own.close()

    def add(self, batch: Batch) -> None:
        """Replace the dates up to the batch's last one. Raises HistoryError for a batch out of order or with windows of
        another width.
        """
        self._check_width(self._window_s or (self._before.window_s if self._before else batch.window_s), batch.window_s)
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
        """The new manifest. Dates of the interval that no batch reached lose their windows in it."""
        if not self._window_s:
            raise HistoryError(f"{self._where}: there are no windows to write; give at least one")
        for day in self._days_left:
            self._replace(day, SCHEMA.empty_table(), {})
        self._days_left = range(self._days_left.stop, self._days_left.stop)
        self._await_writer()
        until = max(from_us(self._end_us), self._built_before())
        return Manifest(self._window_s, self._parts, self._keys, until, committed_at.astimezone(UTC), keep_s)

    def upon(self, before: Manifest | None) -> None:
        """Reapply the change to this commit, which superseded the base used so far.

        Dates equal in both commits keep the work done. Raises HistoryError for windows of another width.
        """
        if before is not None and self._window_s:
            self._check_width(before.window_s, self._window_s)
        self._await_writer()
        last, self._before = self._before, before
        made = self._parts, self._keys
        self._parts, self._keys = ({}, {}) if before is None else (dict(before.parts), dict(before.keys))
        for day, rows, histograms in self._own or ():
            date = iso_date(day)
            if _held(last, date) != _held(before, date):
                self._stage(day, rows, histograms)
                continue
            for names, of_made in zip((self._parts, self._keys), made, strict=True):
                names.pop(date, None)
                names.update({date: of_made[date]} if date in of_made else {})

    def _replace(self, day: int, rows: pa.Table, histograms: Mapping[str, DailyKeyCounts]) -> None:
        self._await_writer()
        self._writing = self._writer.submit(self._write, day, rows, histograms)

    def _await_writer(self) -> None:
        if self._writing is not None:
            self._writing.result()

    def _write(self, day: int, rows: pa.Table, histograms: Mapping[str, DailyKeyCounts]) -> None:
        if self._own is not None:
            self._own.keep(day, rows, histograms)
        self._stage(day, rows, histograms)

    def _stage(self, day: int, rows: pa.Table, histograms: Mapping[str, DailyKeyCounts]) -> None:
        date = iso_date(day)
        part, keys = self._parts.pop(date, None), self._keys.pop(date, None)
        # Do not read a day that is replaced as a whole, so that rebuilding repairs it.
        whole = self._begin_us <= day * DAY_US and (day + 1) * DAY_US <= self._end_us
        if part is not None and (self._keep_known or not whole):
            held = self._read_before(date, part)
            if held is None:
                return
            old = with_own_columns(held)
            starts_us = window_starts_us(old)
            outside = (starts_us < self._begin_us) | (starts_us >= self._end_us)
            if self._keep_known:
                rows = best_known(rows, old.filter(pa.array(~outside)))
            more_before = old.num_rows > rows.num_rows
            rows = in_order(pa.concat_tables([rows, old.filter(pa.array(outside))]))
            if keys is not None:
                held = self._read_before(date, keys)
                if held is None:
                    return
                before = histograms_of(held, date)
                # Histograms cannot be added, since their overlap is unknown: the one covering more windows stays.
                histograms = {**histograms, **before} if more_before else {**before, **histograms}
        below = f"date={date}"
        if rows.num_rows:
            self._parts[date] = write_part(self._folder, below, ROWS, rows.combine_chunks(), part)
        if histograms:
            self._keys[date] = write_part(self._folder, below, KEYS, histograms_table(histograms.values()), keys)

    def _read_before(self, date: str, file: str) -> pa.Table | None:
        """None if another writer has superseded and removed it; the date is then restaged on that commit."""
        try:
            return read_part(self._folder, of_date(date, file))
        except FileNotFoundError:
            if self._folder.shared and _held(read_manifest(self._folder), date) != _held(self._before, date):
                return None
            return read_part_in_force(self._folder, of_date(date, file))

    def _check_width(self, known_s: int, own_s: int) -> None:
        if own_s != known_s:
            raise HistoryError(
                f"{self._where} in {self._folder} has windows of {known_s} s, these rows {own_s} s; keep to one "
                f"width, or move {self._folder} away and rebuild"
            )

    def _built_before(self) -> datetime:
        if self._before is None or self._before.built_until is not None:
            return self._before.built_until if self._before and self._before.built_until else from_us(self._end_us)
        # Format 1 did not record it, so use its last window.
        return last_window_end(self._folder, Manifest(self._window_s, self._parts))


def last_window_end(folder: Folder, manifest: Manifest) -> datetime:
    """End of the last window of a commit, whatever its status."""
    starts_us = window_starts_us(read_part_in_force(folder, manifest.part(max(manifest.parts))))
    return from_us(starts_us.max()) + timedelta(seconds=manifest.window_s)


def _held(manifest: Manifest | None, date: str) -> tuple[str | None, str | None]:
    return (None, None) if manifest is None else (manifest.parts.get(date), manifest.keys.get(date))


def _by_day(rows: pa.Table, days: range) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each day, in their order."""
    of_row = window_starts_us(rows) // DAY_US
    if of_row[0] != of_row.max() or of_row[0] != of_row.min():
        order = np.argsort(of_row, kind="stable")
        rows, of_row = rows.take(pa.array(order)), of_row[order]
    edges = np.searchsorted(of_row, np.arange(days.start, days.stop + 1))
    for day, first, last in zip(days, edges[:-1], edges[1:], strict=True):
        yield day, rows.slice(first, last - first)


class OwnChanges:
    """A writer's rows and key histograms by day since the epoch, which must be reapplied if another writer commits
    first. Rows are kept in a local temporary folder until `close`.
    """

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="forescale-commit-")
        self._histograms: dict[int, Mapping[str, DailyKeyCounts]] = {}

    def keep(self, day: int, rows: pa.Table, histograms: Mapping[str, DailyKeyCounts]) -> None:
        pyarrow.feather.write_feather(rows, str(self._path(day)), compression="lz4")
        self._histograms[day] = histograms

    def __iter__(self) -> Iterator[tuple[int, pa.Table, Mapping[str, DailyKeyCounts]]]:
        for day, histograms in self._histograms.items():
            yield day, pyarrow.feather.read_table(str(self._path(day))), histograms

    def close(self) -> None:
        self._folder.cleanup()

    def _path(self, day: int) -> Path:
        return Path(self._folder.name, f"{day}.arrow")
