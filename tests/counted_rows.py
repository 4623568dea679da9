"""Rows of events through the counting kernels, cut into batches and buckets as tasks cut them, but without Spark."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from forecasting.arrivals.counting.copies import copies, identified_rows
from forecasting.arrivals.counting.event_batch import event_batch
from forecasting.arrivals.counting.source_tally import SourceTally, by_source
from forecasting.arrivals.counting.tally import Bins, Rules, TallyKind, merged_tally, tally, triaged


@dataclass(frozen=True)
class Row:
    """One row of a file of events; times in microseconds since the epoch."""

    time_us: int
    source: str = "web"
    id: str | int | None = None
    weight: int = 1
    arrived_us: int | None = None
    skipped: bool = False
    later_us: int = 0


def rules(
    begin_us: int,
    end_us: int,
    *,
    window_us: int,
    silence_us: int | None = None,
    now_us: int = 10**15,
    ahead_us: int = 0,
    not_before_us: int = 0,
    lateness_us: int = 0,
    arrivals: bool = False,
) -> Rules:
    """Rules for an interval; without a silence, the longest is a window."""
    silence_us = window_us if silence_us is None else silence_us
    bins = Bins(begin_us, end_us, window_us, silence_us, silence_us)
    return Rules(bins, now_us, ahead_us, not_before_us, lateness_us, arrivals=arrivals)


def table_of(rows: Sequence[Row], *columns: str, ids: pa.DataType | None = None) -> pa.Table:
    """The columns time and source of the rows, and those that are named; ids: type of the column of ids."""
    kinds = {"id": ids or pa.string(), "weight": pa.int64(), "skipped": pa.bool_(), "later": pa.int64()}
    table = {
        "time": pa.array([row.time_us for row in rows], pa.int64()),
        "source": pa.array([row.source for row in rows], pa.string()),
    }
    for name in columns:
        field = {"arrived": "arrived_us", "later": "later_us"}.get(name, name)
        table[name] = pa.array([getattr(row, field) for row in rows], kinds.get(name, pa.int64()))
    return pa.table(table)


def counted(
    table: pa.Table, given: Rules, *, gap_us: int | None = None, batch_rows: int | None = None, buckets: int = 1
) -> dict[str, SourceTally]:
    """What the table tells of each source, read in batches of so many rows, copies sought in so many buckets."""
    tallies, by_bucket = [], {}
    for at in range(0, table.num_rows, batch_rows or max(1, table.num_rows)):
        batch = event_batch(table.slice(at, batch_rows))
        assert batch.unusable == 0
        triage = triaged(batch, given)
        tallies.append(tally(batch, triage, given))
        if gap_us is not None:
            for bucket, rows in identified_rows(batch, triage, given.bins, gap_us, buckets):
                by_bucket.setdefault(bucket, []).append(rows)
    # As the tasks of two stages do: each merges its own, the last one what they hand on.
    merged = [merged_tally(tallies[::2]), merged_tally(tallies[1::2])]
    merged += [merged_tally([copies(rows, given.bins, gap_us or 0)]) for rows in by_bucket.values()]
    return by_source(merged_tally(merged), given.bins, weighted="weight" in table.column_names)


def by_window(told: SourceTally, bins: Bins, kind: TallyKind) -> dict[int, int]:
    """Numbers other than zero by the start of their window in microseconds."""
    numbers = told.dense(kind)
    return {bins.begin_us + int(at) * bins.window_us: int(numbers[at]) for at in np.flatnonzero(numbers)}
