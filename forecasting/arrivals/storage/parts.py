"""Part files: tables named by a digest of their content, so that readers can verify it."""

from collections.abc import Sequence
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet

from forecasting.arrivals.storage.folder import Folder
from forecasting.bounded_file import MAX_TRACE_BYTES
from forecasting.errors import HistoryError

ROWS, KEYS = "part", "_keys"
"""Prefixes of file names. The underscore hides key histograms from readers of Parquet folders."""


def write_part(folder: Folder, below: str, kind: str, table: pa.Table, held: str | None = None) -> str:
    """Write the table to a file in the folder `below`; returns its name.

    held: the name in force there; kept if it is of the same table, and its file is repaired if damaged.
    """
    buffer = pa.BufferOutputStream()
    pa.parquet.write_table(table, buffer)
    content = buffer.getvalue().to_pybytes()
    digest = sha256(content).hexdigest()[:32]
    name = held if held is not None and _digest(held) == digest else folder.new_name(kind, digest)
    folder.add(f"{below}/{name}", content)
    return name


def read_part(folder: Folder, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of a file; with `columns`, only those that it has.

    Raises FileNotFoundError if it is gone, HistoryError if its content was changed.
    """
    remedy = f"build the history of the whole {name.partition('/')[0]} again"
    try:
        content = folder.read(name, MAX_TRACE_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HistoryError(
            f"{folder.place(name)} cannot be read: {error}; check its permissions, or {remedy}"
        ) from None
    if sha256(content).hexdigest()[:32] != _digest(name):
        folder.check_stored(name, content)
        raise HistoryError(f"{folder.place(name)} is damaged: its content does not match its name; {remedy}")
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(content))
        held = file.schema_arrow.names
        return file.read(columns=None if columns is None else [name for name in columns if name in held])
    except (OSError, pa.ArrowException) as error:
        cause = " ".join(str(error).split())
        raise HistoryError(f"{folder.place(name)} is damaged: {cause}; {remedy}") from None


def read_part_in_force(folder: Folder, name: str) -> pa.Table:
    """Like read_part, for a file that must exist."""
    try:
        return read_part(folder, name)
    except FileNotFoundError:
        raise HistoryError(f"{folder.place(name)} is missing; build the history of its whole date again") from None


def _digest(name: str) -> str:
    return name.removesuffix(".parquet").rpartition("-")[2]
