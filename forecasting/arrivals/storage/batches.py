"""Checks the data for a writer of history before any of it is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts
from forecasting.arrivals.grid import from_us, to_us, whole_windows
from forecasting.arrivals.rows import checked_rows, rows_of, window_starts_us
from forecasting.arrivals.storage.layout import DAY_US, iso_date
from forecasting.errors import HistoryError


@dataclass(frozen=True)
class Batch:
    """Checked rows of whole dates, in order of source and time.

    start, end: the interval to be replaced, snapped to windows. days: days since the epoch, from the first window's to
    the last window's. histograms: by day (ISO) and source.
    """

    rows: pa.Table
    window_s: int
    start: datetime
    end: datetime
    days: range
    histograms: Mapping[str, Mapping[str, DailyKeyCounts]]


def checked_batch(given: pa.Table | Arrivals, topology: str, start: datetime, end: datetime) -> Batch:
    """The checked data for a writer that replaces [start, end).

    Raises HistoryError for invalid rows, windows and histograms outside the interval, and duplicate histograms.
    """
    if isinstance(given, Arrivals) and given.sources and given.windows:
        # Arrivals are validated when constructed, so rows made from them are in order and on the grid.
        rows, window_s, keys = rows_of(topology, given), given.window_s, given.keys
    else:
        keys = given.keys if isinstance(given, Arrivals) else ()
        rows, window_s = checked_rows(rows_of(topology, given) if isinstance(given, Arrivals) else given, topology)
    start, end = whole_windows(start, end, window_s)
    starts_us = window_starts_us(rows)
    if (outside := (starts_us < to_us(start)) | (starts_us >= to_us(end))).any():
        raise HistoryError(
            f"history of topology {topology!r}: window at {from_us(starts_us[outside][0])} lies outside the interval "
            f"{start} to {end} that is to be replaced; widen the interval"
        )
    days = range(int(starts_us.min()) // DAY_US, int(starts_us.max()) // DAY_US + 1)
    return Batch(rows, window_s, start, end, days, _by_day(keys, topology, days))


def _by_day(keys: tuple[DailyKeyCounts, ...], topology: str, days: range) -> dict[str, dict[str, DailyKeyCounts]]:
    by_day: dict[str, dict[str, DailyKeyCounts]] = {iso_date(day): {} for day in days}
    for histogram in keys:
        where = f"history of topology {topology!r}: key histogram of source {histogram.source!r} on {histogram.day}"
        of_day = by_day.get(histogram.day.isoformat())
        if of_day is None:
            raise HistoryError(
                f"{where} lies outside the days {iso_date(days[0])} to {iso_date(days[-1])} of its windows; give it "
                "with theirs"
            )
        if histogram.source in of_day:
            raise HistoryError(f"{where} is given twice; give one")
        of_day[histogram.source] = histogram
    return by_day
