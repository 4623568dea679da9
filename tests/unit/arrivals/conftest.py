"""Rows of arrival history, written as one would say them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from forecasting.arrivals.rows import BORDER
from forecasting.arrivals.store import write_history

RowsFrom = Callable[..., pa.Table]
WriteFrom = Callable[..., None]


@pytest.fixture
def rows_from() -> RowsFrom:
    """Rows of consecutive windows from an ISO time on: a count each, None for missing, text ("~3") for partial."""

    def rows(
        start: str, counts: Sequence[int | str | None], *, source: str = "ingest", window_s: int = 3600
    ) -> pa.Table:
        first = datetime.fromisoformat(start).replace(tzinfo=UTC)
        return pa.Table.from_pylist(
            [
                {
                    "topology": "calls",
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

    return rows


@pytest.fixture
def write_from(tmp_path: Path, rows_from: RowsFrom) -> WriteFrom:
    """Writes such rows as the history of just their windows."""

    def write(start: str, counts: Sequence[int | str | None], **of: str | int) -> None:
        rows = rows_from(start, counts, **of)
        first = datetime.fromisoformat(start).replace(tzinfo=UTC)
        last = first + timedelta(seconds=len(counts) * int(of.get("window_s", 3600)))
        write_history(rows, tmp_path, "calls", first, last)

    return write
