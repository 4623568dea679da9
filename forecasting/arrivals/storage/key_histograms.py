"""Key histograms on disk: one file per date, with the key frequencies of each source."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import partial

import pyarrow as pa

from forecasting.arrivals.arrival_source import DailyKeyCounts
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.layout import days_of, iso_date
from forecasting.arrivals.storage.manifest import Manifest, of_date
from forecasting.arrivals.storage.parts import read_part
from forecasting.arrivals.storage.reading import read_commit

_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        # A map keeps its order: most frequent first.
        pa.field("heavy", pa.map_(pa.string(), pa.int64()), nullable=False),
        pa.field("residual", pa.int64(), nullable=False),
        pa.field("max_error", pa.int64(), nullable=False),
        # Older files lack it.
        pa.field("distinct_keys", pa.int64()),
    ]
)


def read_key_histograms(
    directory: Directory, topology: str, start: datetime, end: datetime, snapshot: str | None = None
) -> list[DailyKeyCounts]:
    """The histograms of the UTC days that overlap [start, end), by day and source; empty if none were stored.

    snapshot: the commit to read, None for the one in force. Raises HistoryError for an unknown topology or snapshot and
    a damaged file.
    """
    days = [iso_date(day) for day in days_of(start, end)]

    def read(folder: Folder, manifest: Manifest) -> list[DailyKeyCounts]:
        held = [day for day in days if day in manifest.keys]
        tables = folder.each(partial(read_part, folder), [of_date(day, manifest.keys[day]) for day in held])
        return [
            histogram
            for day, table in zip(held, tables, strict=True)
            for histogram in histograms_of(table, day).values()
        ]

    return read_commit(directory, topology, snapshot, read)[1]


def histograms_table(histograms: Iterable[DailyKeyCounts]) -> pa.Table:
    """One row per histogram, all of one day."""
    rows = [
        {
            "source": histogram.source,
            "heavy": list(histogram.heavy.items()),
            "residual": histogram.residual,
            "max_error": histogram.max_error,
            "distinct_keys": histogram.distinct_keys,
        }
        for histogram in sorted(histograms, key=lambda histogram: histogram.source)
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def histograms_of(table: pa.Table, day: str) -> Mapping[str, DailyKeyCounts]:
    """Histograms by source; the inverse of histograms_table."""
    return {
        row["source"]: DailyKeyCounts(
            row["source"],
            date.fromisoformat(day),
            dict(row["heavy"]),
            row["residual"],
            row["max_error"],
            row.get("distinct_keys"),
        )
        for row in table.to_pylist()
    }
