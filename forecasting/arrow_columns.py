"""Arrow columns as NumPy arrays and back.

pyarrow's own conversions import pandas where it is installed, which takes longer than most commands need to answer.
"""

import numpy as np
import pyarrow as pa

from forecasting.arrays import Flags, Floats, Ints


def floats(column: pa.ChunkedArray) -> Floats:
    """The numbers of a column, shape (rows,). Null is NaN, and integers are exact up to 2^53."""
    parts = [np.where(_known(chunk), _values(chunk), np.nan) for chunk in column.chunks]
    return np.concatenate(parts, dtype=np.float64) if parts else np.empty(0)


def integers(column: pa.ChunkedArray) -> Ints:
    """The integers of a column, shape (rows,). Null is 0."""
    parts = [np.where(_known(chunk), _values(chunk), 0) for chunk in column.chunks]
    return np.concatenate(parts, dtype=np.int64) if parts else np.empty(0, dtype=np.int64)


def words(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Which of the sorted words of a column each row holds, shape (rows,), and the words. No row may be null."""
    encoded = [chunk.dictionary_encode() for chunk in column.chunks]
    held = [each.dictionary.to_pylist() for each in encoded]
    names = sorted({name for each in held for name in each})
    number = {name: at for at, name in enumerate(names)}
    numbers = [np.array([number[name] for name in each], dtype=np.int64) for each in held]
    parts = [of_word[_values(each.indices)] for of_word, each in zip(numbers, encoded, strict=True)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), names


def column_of(integers: Ints) -> pa.Array:
    """Integers, shape (rows,), as a column that shares their memory."""
    return pa.Array.from_buffers(pa.int64(), integers.size, [None, pa.py_buffer(np.ascontiguousarray(integers))])


def _values(chunk: pa.Array) -> Ints:
    """The numbers of a chunk, of its own type; anything where it is null."""
    without_nulls = pa.Array.from_buffers(chunk.type, len(chunk), [None, chunk.buffers()[1]], offset=chunk.offset)
    values: Ints = np.from_dlpack(without_nulls)  # type: ignore[assignment]
    return values


def _known(chunk: pa.Array) -> Flags | np.bool_:
    """Where a chunk is not null: its bitmap has one bit a row."""
    if not chunk.null_count:
        return np.True_
    bits = np.unpackbits(np.frombuffer(chunk.buffers()[0], np.uint8), bitorder="little")
    return np.asarray(bits[chunk.offset : chunk.offset + len(chunk)] == 1)
