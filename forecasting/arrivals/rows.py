"""Rows of the arrival history: a regular grid of windows for one source, with a status each."""

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute

from forecasting.arrivals.coverage import Int64s, window_status
from forecasting.arrivals.grid import SECOND_US, from_us, to_us
from forecasting.arrivals.history import COLUMNS, MISSING, OBSERVED
from forecasting.errors import HistoryError

SCHEMA = pa.schema(
    [
        pa.field("topology", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        # Microseconds: Spark refuses nanoseconds.
        pa.field("window_start", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("window_s", pa.int32(), nullable=False),
        pa.field("count", pa.int64()),
        pa.field("status", pa.string(), nullable=False),
    ]
)
assert tuple(SCHEMA.names) == COLUMNS


def history_rows(
    topology: str, source: str, counts: Int64s, spans: Int64s, *, start: datetime, window_s: int
) -> pa.Table:
    """Rows of consecutive windows from start on, with columns as in history.COLUMNS.

    counts: shape (windows,), events per window, zero where there are none. spans: when the feed was alive.
    """
    width_us = window_s * SECOND_US
    edges_us = to_us(start) + np.arange(counts.size + 1, dtype=np.int64) * width_us
    status = window_status(spans, edges_us, counts)
    return pa.table(
        {
            "topology": np.repeat(topology, counts.size),
            "source": np.repeat(source, counts.size),
            "window_start": pa.array(edges_us[:-1]).cast(pa.timestamp("us", tz="UTC")),
            "window_s": np.full(counts.size, window_s, dtype=np.int32),
            "count": pa.array(counts, mask=status == MISSING),
            "status": status,
        }
    ).cast(SCHEMA)


def checked_rows(rows: pa.Table, topology: str) -> tuple[pa.Table, int]:
    """The rows in the schema of the history, and the width of their windows in seconds.

    Raises HistoryError for other columns, no rows, rows of another topology, negative or unknown counts, and
    windows off the grid or given twice.
    """
    where = f"history of topology {topology!r}"
    try:
        rows = rows.select(SCHEMA.names).cast(SCHEMA)
    except (KeyError, ValueError) as error:
        raise HistoryError(f"{where}: rows do not fit the columns {', '.join(SCHEMA.names)}: {error}") from None
    if rows.num_rows == 0:
        raise HistoryError(f"{where}: there are no windows to write; give at least one")
    if others := set(rows["topology"].unique().to_pylist()) - {topology}:
        raise HistoryError(f"{where}: rows are of topology {min(others)!r}; write them under their own name")
    widths = sorted(rows["window_s"].unique().to_pylist())
    if len(widths) > 1 or widths[0] <= 0:
        raise HistoryError(f"{where}: windows of {widths} s; give one positive width")
    starts_us = window_starts_us(rows)
    if (off := starts_us % (widths[0] * SECOND_US) != 0).any():
        raise HistoryError(
            f"{where}: window at {from_us(starts_us[off][0])} does not start at a multiple of {widths[0]} s; align it"
        )
    counts = rows["count"].to_numpy(zero_copy_only=False).astype(float)
    observed = rows["status"].to_numpy(zero_copy_only=False) == OBSERVED
    if (wrong := (counts < 0) | (observed & np.isnan(counts))).any():
        at = int(np.flatnonzero(wrong)[0])
        row = rows.slice(at, 1).to_pylist()[0]
        raise HistoryError(
            f"{where}: count {row['count']} of source {row['source']!r} in the {row['status']} window at "
            f"{row['window_start']}; a count is not negative, and known where the window was observed"
        )
    times = rows.group_by(["source", "window_start"]).aggregate([([], "count_all")])
    if (twice := times.filter(pa.compute.greater(times["count_all"], 1))).num_rows:
        row = twice.slice(0, 1).to_pylist()[0]
        raise HistoryError(
            f"{where}: {row['count_all']} rows for source {row['source']!r} at {row['window_start']}; give one"
        )
    return rows, widths[0]


def window_starts_us(rows: pa.Table) -> Int64s:
    """Starts of the windows in microseconds since the epoch, shape (rows,)."""
    return rows["window_start"].cast(pa.int64()).to_numpy()
