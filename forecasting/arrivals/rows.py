"""Rows of the arrival history: a regular grid of windows per source, each with status and tallies."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from forecasting.arrivals.arrival_source import TALLIES, Arrivals, Measures, SourceArrivals
from forecasting.arrivals.coverage import Int64s, status_codes
from forecasting.arrivals.grid import SECOND_US, from_us
from forecasting.arrivals.history import COLUMNS, MISSING, OBSERVED, PARTIAL, STATUSES, THROTTLED
from forecasting.arrow_columns import integers, words
from forecasting.errors import HistoryError

BORDER = pa.schema(
    [
        pa.field("topology", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        # Microseconds, since Spark refuses nanoseconds.
        pa.field("window_start", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("window_s", pa.int32(), nullable=False),
        pa.field("count", pa.int64()),
        pa.field("status", pa.string(), nullable=False),
    ]
)
"""The public columns; internal ones follow them."""
SCHEMA = pa.schema(
    [
        *BORDER,
        pa.field("measures", pa.string(), nullable=False),
        *(pa.field(tally, pa.int64(), nullable=False) for tally in TALLIES),
    ]
)
assert tuple(BORDER.names) == COLUMNS


def rows_of(topology: str, arrivals: Arrivals) -> pa.Table:
    """One row per source and window of the arrivals, in SCHEMA, by source and time.

    The status is the first that applies of missing, partial, throttled, observed.
    """
    if not arrivals.sources:
        return SCHEMA.empty_table()
    names, edges_us = sorted(arrivals.sources), arrivals.edges_us()
    sources = [arrivals.sources[name] for name in names]
    counts = np.concatenate([source.counts for source in sources]).astype(np.int64)
    status = np.concatenate([status_codes(s.alive, edges_us, s.counts, s.held_back) for s in sources])
    none = np.zeros(arrivals.windows, dtype=np.int64)
    starts = pa.array(np.tile(edges_us[:-1], len(names)))
    numbers = np.repeat(np.arange(len(names), dtype=np.int32), arrivals.windows)
    return pa.table(
        {
            "topology": pa.repeat(topology, counts.size),
            "source": pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names)).cast(pa.string()),
            "window_start": starts.cast(pa.timestamp("us", tz="UTC")),
            "window_s": pa.repeat(pa.scalar(arrivals.window_s, pa.int32()), counts.size),
            "count": pa.array(counts, mask=status == STATUSES.index(MISSING)),
            # A dictionary of four words, instead of one string per window.
            "status": pa.DictionaryArray.from_arrays(pa.array(status), pa.array(STATUSES)).cast(pa.string()),
            "measures": pa.repeat(arrivals.measures.value, counts.size),
            **{tally: np.concatenate([source.tallies.get(tally, none) for source in sources]) for tally in TALLIES},
        }
    ).cast(SCHEMA)


def history_rows(
    topology: str, source: str, counts: Int64s, spans: Int64s, *, start: datetime, window_s: int
) -> pa.Table:
    """Rows of consecutive windows of one source from start on, in SCHEMA.

    counts: shape (windows,), events per window, zero if there are none. spans: when the feed was alive.
    """
    source_arrivals = SourceArrivals(counts, spans, tallies={"rows_read": counts})
    end = start + timedelta(seconds=window_s * counts.size)
    return rows_of(topology, Arrivals(start, end, window_s, Measures.OFFERED, {source: source_arrivals}))


def with_own_columns(rows: pa.Table, columns: Sequence[str] = tuple(SCHEMA.names)) -> pa.Table:
    """These columns of SCHEMA, with defaults for missing internal ones (those after BORDER).

    By default rows measure offered load, and every event is a row read. Raises ValueError or KeyError for columns that
    do not fit.
    """
    for name in columns:
        if name not in rows.column_names and name not in BORDER.names:
            rows = rows.append_column(name, _default_column(name, rows))
    return rows.select(columns).cast(pa.schema([SCHEMA.field(name) for name in columns]))


def checked_rows(rows: pa.Table, topology: str) -> tuple[pa.Table, int]:
    """The rows in SCHEMA, in order of source and time, and the width of their windows in seconds.

    Raises HistoryError for wrong columns, no rows, rows of another topology, unknown statuses, negative or unknown
    counts and tallies, and windows off the grid or given twice.
    """
    where = f"history of topology {topology!r}"
    try:
        rows = with_own_columns(rows)
    except (KeyError, ValueError) as error:
        raise HistoryError(f"{where}: rows do not fit the columns {', '.join(SCHEMA.names)}: {error}") from None
    if rows.num_rows == 0:
        raise HistoryError(f"{where}: there are no windows to write; give at least one")
    for name, known in (("topology", {topology}), ("status", set(STATUSES)), ("measures", set(Measures))):
        if others := set(rows[name].unique().to_pylist()) - known:
            if name == "topology":
                raise HistoryError(f"{where}: rows are of topology {min(others)!r}; write them under their own name")
            raise HistoryError(f"{where}: {name} {min(others)!r} is unknown; known are {', '.join(sorted(known))}")
    widths = sorted(rows["window_s"].unique().to_pylist())
    if len(widths) > 1 or widths[0] <= 0:
        raise HistoryError(f"{where}: windows of {widths} s; give one positive width")
    starts_us = window_starts_us(rows)
    if (off := starts_us % (widths[0] * SECOND_US) != 0).any():
        raise HistoryError(
            f"{where}: window at {from_us(starts_us[off][0])} does not start at a multiple of {widths[0]} s; align it"
        )
    _check_counts(rows, where)
    rows = in_order(rows)
    codes, starts_us = source_codes(rows)[0], window_starts_us(rows)
    if (twice := (np.diff(codes) == 0) & (np.diff(starts_us) == 0)).any():
        row = rows.slice(int(np.flatnonzero(twice)[0]), 1).to_pylist()[0]
        raise HistoryError(
            f"{where}: more than one row for source {row['source']!r} at {row['window_start']}; give one"
        )
    return rows, widths[0]


def in_order(rows: pa.Table) -> pa.Table:
    """The rows in storage order: by source and time."""
    codes, starts_us = source_codes(rows)[0], window_starts_us(rows)
    steps = np.diff(codes)
    if ((steps > 0) | ((steps == 0) & (np.diff(starts_us) >= 0))).all():
        return rows
    return rows.take(pa.array(np.lexsort((starts_us, codes))))


def best_known(rows: pa.Table, earlier: pa.Table) -> pa.Table:
    """The rows, with the earlier row for each source and window that it knows better; in any order.

    A wholly alive window is known better than a partial one, and that better than a missing one.
    """
    whole = pa.concat_tables([rows, earlier])
    codes, starts_us = source_codes(whole)[0], window_starts_us(whole)
    known = np.array(
        [{OBSERVED: 2, THROTTLED: 2, PARTIAL: 1, MISSING: 0}[word] for word in whole["status"].to_pylist()]
    )
    is_earlier = np.arange(whole.num_rows) >= rows.num_rows
    # Within a source and window, the best known row comes first; of equals, the new one.
    order = np.lexsort((is_earlier, -known, starts_us, codes))
    first = np.ones(order.size, bool)
    first[1:] = (np.diff(codes[order]) != 0) | (np.diff(starts_us[order]) != 0)
    return whole.take(pa.array(order[first]))


def source_codes(rows: pa.Table) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The source index of each row, shape (rows,), and the sorted names of the sources by index."""
    return words(rows["source"])


def window_starts_us(rows: pa.Table) -> Int64s:
    """Starts of the windows in microseconds since the epoch, shape (rows,)."""
    return integers(rows["window_start"].cast(pa.int64()))


def _default_column(name: str, rows: pa.Table) -> pa.Array:
    if name == "measures":
        return pa.repeat(Measures.OFFERED.value, rows.num_rows)
    return pa.compute.fill_null(rows["count"], 0) if name == "rows_read" else pa.repeat(0, rows.num_rows)


def _check_counts(rows: pa.Table, where: str) -> None:
    counts = rows["count"].to_numpy(zero_copy_only=False).astype(float)
    known = pa.compute.is_in(rows["status"], pa.array([OBSERVED, THROTTLED])).to_numpy(zero_copy_only=False)
    if (wrong := (counts < 0) | (known & np.isnan(counts))).any():
        row = rows.slice(int(np.flatnonzero(wrong)[0]), 1).to_pylist()[0]
        raise HistoryError(
            f"{where}: count {row['count']} of source {row['source']!r} in the {row['status']} window at "
            f"{row['window_start']}; a count is not negative, and known where the window was {row['status']}"
        )
    for tally in TALLIES:
        if (least := pa.compute.min(rows[tally]).as_py()) < 0:
            raise HistoryError(f"{where}: tally {tally} holds {least}; a number of rows is not negative")
