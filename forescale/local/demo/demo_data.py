"""Writes the demo's input: raw events up to now, coverage of the feed, and the truth that the simulator replays."""

import fcntl
import shutil
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from forecasting.arrivals.coverage import Int64s, merged_spans
from forecasting.arrivals.grid import SECOND_US, to_us
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forecasting.errors import HistoryError
from forescale.local.demo.bank_calls import FEED, TOPOLOGY, CallDay, span_of, unrecorded, unroll

TRUTH_WINDOW_S = 60
DEFAULT_NOW = datetime(2003, 10, 23, 21, 30, tzinfo=UTC)
"""Thursday evening, after the centre has closed: the trace's last Friday is still to come."""


@dataclass(frozen=True)
class DemoData:
    """The written data. rows: delivered from start up to now, copies included; calls: distinct ones among them."""

    truth: Path
    start: datetime
    now: datetime
    rows: int
    calls: int


def write_demo_data(
    home: Path, *, now: datetime = DEFAULT_NOW, weeks: int = 8, shift: timedelta = timedelta(0)
) -> DemoData:
    """Replace home/demo: events/date=…/calls.parquet, coverage.parquet and truth/ (a history of one-minute windows).

    now: later events are not written; it lies within the (shifted) span. The same arguments give the same bytes.
    The folder is built aside and swapped in, replacing the old one. Raises HistoryError for a `now` outside the span.
    """
    start, end = span_of(weeks, shift)
    if not start < now <= end:
        raise HistoryError(
            f"now {now} lies outside the demo's calls, {start} to {end}; choose a time between, or a shift"
        )
    home.mkdir(parents=True, exist_ok=True)
    folder, aside = home / "demo", home / "demo.new"
    with (home / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        counts = np.zeros(int((end - start).total_seconds()) // TRUTH_WINDOW_S, dtype=np.int64)
        rows = calls = 0
        for day in unroll(weeks, shift=shift):
            np.add.at(counts, (day.calls_us - to_us(start)) // (TRUTH_WINDOW_S * SECOND_US), 1)
            rows += _write_day(day, aside / "events", now)
            calls += int((day.calls_us < to_us(now)).sum())
        gaps = unrecorded(weeks, shift)
        pa.parquet.write_table(_coverage_rows(_alive(start, now, gaps)), aside / "coverage.parquet")
        truth = history_rows(TOPOLOGY, FEED, counts, _alive(start, end, gaps), start=start, window_s=TRUTH_WINDOW_S)
        write_history(truth, aside / "truth", TOPOLOGY, start, end, now=end)
        _swap_in(aside, folder)
    return DemoData(folder / "truth", start, now, rows, calls)


def deliver(home: Path, *, now: datetime, weeks: int, shift: timedelta) -> None:
    """Bring the events and the coverage of `write_demo_data` up to now, as a feed does; events never lie ahead."""
    start, end = span_of(weeks, shift)
    folder, now = home / "demo", min(now, end)
    written = [date.fromisoformat(path.name.removeprefix("date=")) for path in (folder / "events").glob("date=*")]
    for day in unroll(weeks, shift=shift, since=max(written, default=date.min)):
        if day.day > now.date():
            break
        _write_day(day, folder / "events", now)
    _write_table(_coverage_rows(_alive(start, now, unrecorded(weeks, shift))), folder / "coverage.parquet")


def _write_table(table: pa.Table, path: Path) -> None:
    """Readers see the old file or the new one."""
    aside = path.with_name(f".{path.name}.part")
    pa.parquet.write_table(table, aside)
    aside.replace(path)


def _write_day(day: CallDay, events: Path, now: datetime) -> int:
    """Write the events up to now; returns the number of rows."""
    came = pa.compute.less(day.delivered["called_at"], pa.scalar(now, pa.timestamp("us", "UTC")))
    rows = day.delivered.filter(came)
    if rows.num_rows:
        folder = events / f"date={day.day}"
        folder.mkdir(parents=True, exist_ok=True)
        _write_table(rows, folder / "calls.parquet")
    return int(rows.num_rows)


def _alive(start: datetime, end: datetime, gaps: list[tuple[datetime, datetime]]) -> Int64s:
    """The spans of [start, end) outside the gaps, which are ordered and disjoint."""
    begins = [start, *(to for _, to in gaps)]
    ends = [*(begin for begin, _ in gaps), end]
    return merged_spans((to_us(a), min(to_us(b), to_us(end))) for a, b in zip(begins, ends, strict=True) if a < end)


def _coverage_rows(spans: Int64s) -> pa.Table:
    alive_from, alive_to = (pa.array(spans[:, side]).cast(pa.timestamp("us", tz="UTC")) for side in (0, 1))
    return pa.table({"source": [FEED] * len(spans), "alive_from": alive_from, "alive_to": alive_to})


def _swap_in(aside: Path, folder: Path) -> None:
    old = folder.with_name(f"{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
