"""Part files: tables under names made of their content, so that whoever reads one knows that it is what was written."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from forecasting.arrivals.storage.durable_files import sync_folder, write_durably
from forecasting.bounded_file import MAX_TRACE_BYTES, bounded_bytes
from forecasting.errors import HistoryError

ROWS, KEYS = "part", "_keys"
"""What names of files begin with. The underscore hides key histograms from readers of Parquet folders."""


def write_part(folder: Path, kind: str, table: pa.Table) -> str:
    """The name of a file in the folder with this table; the same table always gives the same name."""
    buffer = pa.BufferOutputStream()
    pa.parquet.write_table(table, buffer)
    content = buffer.getvalue().to_pybytes()
    path = folder / f"{kind}-{sha256(content).hexdigest()[:32]}.parquet"
    if not folder.exists():
        folder.mkdir()
        sync_folder(folder.parent)
    if path.exists() and path.read_bytes() == content:
        # A writer that was killed may have put it there, and its name may not be on disk yet.
        sync_folder(folder)
    else:
        write_durably(path, content)
    return path.name


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of a file, or those of the columns that it has.

    Raises FileNotFoundError when it is gone, HistoryError when it is not what was written.
    """
    remedy = f"build the history of the whole {path.parent.name} again"
    try:
        content = bounded_bytes(path, MAX_TRACE_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error}; check its permissions, or {remedy}") from None
    if sha256(content).hexdigest()[:32] != path.stem.rsplit("-", 1)[-1]:
        raise HistoryError(f"{path} is damaged: its content does not match its name; {remedy}")
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(content))
        held = file.schema_arrow.names
        return file.read(columns=None if columns is None else [name for name in columns if name in held])
    except (OSError, pa.ArrowException) as error:
        raise HistoryError(f"{path} is damaged: {' '.join(str(error).split())}; {remedy}") from None


def read_part_in_force(path: Path) -> pa.Table:
    """As read_part, for a file that must be there."""
    try:
        return read_part(path)
    except FileNotFoundError:
        raise HistoryError(f"{path} is missing; build the history of its whole date again") from None
