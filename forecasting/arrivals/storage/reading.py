"""Reads the rows of one commit while writers may be active."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from forecasting.arrivals.grid import SECOND_US, to_us
from forecasting.arrivals.rows import SCHEMA, source_codes, window_starts_us, with_own_columns
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.layout import DAY_US, iso_date, topologies, topology_folder
from forecasting.arrivals.storage.manifest import Manifest
from forecasting.arrivals.storage.parts import read_part
from forecasting.arrivals.storage.snapshots import manifest_of
from forecasting.arrow_columns import column_of
from forecasting.errors import HistoryError

_ATTEMPTS = 10
_CHOSEN_BY = ("source", "window_start")
Read = TypeVar("Read")


def read_commit(
    directory: Directory, topology: str, snapshot: str | None, read: Callable[[Folder, Manifest], Read]
) -> tuple[Manifest, Read]:
    """The manifest of a commit (None: the one in force), and the result of `read` on the topology's folder with it.

    Raises HistoryError if the commit does not exist or one of its files is missing.
    """
    folder = topology_folder(directory, topology)
    for _ in range(_ATTEMPTS):
        manifest = manifest_of(folder, snapshot)
        if manifest is None or not manifest.parts:
            raise HistoryError(
                f"topology {topology!r} has no arrival history in {directory}; known are "
                f"{', '.join(topologies(directory)) or 'none'}; run `forescale history build`"
            )
        try:
            return manifest, read(folder, manifest)
        except FileNotFoundError as error:
            gone = error.filename
            if manifest_of(folder, snapshot) == manifest:
                raise HistoryError(f"{gone} is missing; build the history of its date again") from None
        # Otherwise a writer has committed and swept meanwhile; the next attempt sees its commit.
    raise HistoryError(f"history in {folder} changed {_ATTEMPTS} times while it was read; let its writers finish")


def rows_between(
    folder: Folder,
    manifest: Manifest,
    start: datetime | None,
    end: datetime | None,
    *,
    sources: Collection[str] | None = None,
    columns: Sequence[str] = tuple(SCHEMA.names),
) -> pa.Table:
    """Rows of the windows that lie wholly in [start, end), by date; other dates are not read.

    columns: of SCHEMA. Raises HistoryError if there are no rows, FileNotFoundError if a file is gone.
    """
    width_us = manifest.window_s * SECOND_US
    begin_us = np.iinfo(np.int64).min if start is None else to_us(start)
    last_us = np.iinfo(np.int64).max if end is None else to_us(end) - width_us
    from_date = "" if start is None else iso_date(begin_us // DAY_US)
    to_date = "9999-12-31" if end is None else iso_date(last_us // DAY_US)
    parts = [manifest.part(date) for date in sorted(manifest.parts) if from_date <= date <= to_date]
    # The count is needed to derive the tallies of older parts.
    read = partial(read_part, folder, columns=list(dict.fromkeys([*_CHOSEN_BY, "count", *columns])))
    shown = list(dict.fromkeys([*_CHOSEN_BY, *columns]))
    tables = [
        _chosen(with_own_columns(held, shown), begin_us, last_us, sources).select(columns)
        for held in folder.each(read, parts)
    ]
    rows = pa.concat_tables(tables or [pa.schema([SCHEMA.field(name) for name in columns]).empty_table()])
    if rows.num_rows == 0 and sources is None:
        raise HistoryError(
            f"history in {folder} has no whole window between {start} and {end}; it covers the dates "
            f"{min(manifest.parts)} to {max(manifest.parts)}"
        )
    return rows


def _chosen(rows: pa.Table, begin_us: int, last_us: int, sources: Collection[str] | None) -> pa.Table:
    starts_us = window_starts_us(rows)
    chosen = (starts_us >= begin_us) & (starts_us <= last_us)
    if sources is not None:
        codes, names = source_codes(rows)
        chosen &= np.array([name in sources for name in names], dtype=bool)[codes]
    return rows if chosen.all() else rows.take(column_of(np.flatnonzero(chosen)))
