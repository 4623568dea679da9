"""Rows of arrival history, written as one would say them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from forecasting.arrivals.rows import BORDER
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.store import write_history

RowsFrom = Callable[..., pa.Table]
WriteFrom = Callable[..., None]


def rows_of_hours(
    start: str,
    counts: Sequence[int | str | None],
    *,
    source: str = "ingest",
    window_s: int = 3600,
    topology: str = "calls",
) -> pa.Table:
    """Rows of consecutive windows from an ISO time on: a count each, None for missing, text ("~3") for partial."""
    first = datetime.fromisoformat(start).replace(tzinfo=UTC)
    return pa.Table.from_pylist(
        [
            {
                "topology": topology,
                "source": source,
                "window_start": first + timedelta(seconds=window_s * number),
                "window_s": window_s,
                "count": None if count is None else int(str(count).lstrip("~")),
                "status": "missing" if count is None else "partial" if isinstance(count, str) else "observed",
            }
            for number, count in enumerate(counts)
        ],
        schema=BORDER,
    )


def writer_into(directory: Directory) -> WriteFrom:
    """Writes such rows as the history of just their windows."""

    def write(start: str, counts: Sequence[int | str | None], **of: str | int) -> None:
        rows = rows_of_hours(start, counts, **of)
        first = datetime.fromisoformat(start).replace(tzinfo=UTC)
        last = first + timedelta(seconds=len(counts) * int(of.get("window_s", 3600)))
        write_history(rows, directory, "calls", first, last)

    return write
