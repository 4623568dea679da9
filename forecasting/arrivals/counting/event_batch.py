"""Event rows as arrays: the common form in which rows of any file format are counted."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from forecasting.arrays import Flags
from forecasting.arrivals.coverage import Int64s

UInt64s = npt.NDArray[np.uint64]

ROLES = ("time", "source", "key", "id", "weight", "arrived", "skipped", "later")
"""Columns of the Arrow tables that batches are made from; only time and source are required.

time, arrived: int64, microseconds since the epoch. source, key: text, dictionary-encoded or not. id: text or integers.
weight: int64. skipped: whether the time is a wall-clock time that daylight saving skips. later: int64, for a wall-clock
time that repeats: microseconds to add if the event came in the second of the two hours; else zero.
"""
MAX_WEIGHT = 10**12
"""Maximum number of events per row: sums are exact up to 2^53, nine thousand times as much."""
MAX_NAME = 1000
"""Maximum characters of a source or key. A source's name is repeated in every window, so a longer one would exhaust
memory.
"""
BLANKS = " \t\r\n\f\v"
"""Characters stripped from both ends of a source's name."""


@dataclass(frozen=True)
class Coded:
    """Text as codes, shape (rows,), into distinct names; code -1 is null."""

    codes: npt.NDArray[np.int32]
    names: list[str]


@dataclass(frozen=True)
class EventBatch:
    """Event rows as arrays of shape (rows,) each, and the number of rows that cannot be counted.

    ids: hash of each row's id, equal for equal ids. identified: whether the row has an id; None if all have.
    later_us: time to the other hour in which the clock showed the same time, negative for a row placed in the second;
    zero if there is none. Columns that the files lack are None. unusable: rows left out because their time, source,
    weight or arrival is invalid.
    """

    time_us: Int64s
    source: Coded
    unusable: int
    key: Coded | None = None
    ids: UInt64s | None = None
    identified: Flags | None = None
    weight: Int64s | None = None
    arrived_us: Int64s | None = None
    skipped: Flags | None = None
    later_us: Int64s | None = None


def event_batch(table: pa.Table | pa.RecordBatch) -> EventBatch:
    """The batch of an Arrow table with columns of ROLES."""
    columns = {name: table.column(name) for name in ROLES if name in table.schema.names}
    needed = [columns[name] for name in ("time", "source", "weight", "arrived") if name in columns]
    usable = [pa.compute.is_valid(column) for column in needed if column.null_count]
    if "weight" in columns:
        least, most = pa.compute.min_max(columns["weight"]).as_py().values()
        if (least or 0) < 0 or (most or 0) > MAX_WEIGHT:
            weight = pa.compute.fill_null(columns["weight"], -1)
            usable += [pa.compute.greater_equal(weight, 0), pa.compute.less_equal(weight, MAX_WEIGHT)]
    rows = table.num_rows
    if usable:
        table = table.filter(reduce(pa.compute.and_, usable))
        columns = {name: table.column(name) for name in columns}
    unusable = rows - table.num_rows

    def numbers(name: str) -> Any:
        return _flat(columns[name]).to_numpy(zero_copy_only=False) if name in columns else None

    source = _without_blanks(coded(columns["source"]))
    blank = np.isin(source.codes, _no_names(source))
    if blank.any():
        # A blank source, or one that is too long, counts as missing; such rows are few, if any.
        kept = event_batch(pa.Table.from_arrays([*table.columns], names=table.schema.names).filter(pa.array(~blank)))
        return EventBatch(**{**kept.__dict__, "unusable": kept.unusable + unusable + int(blank.sum())})
    ids = identified = None
    if "id" in columns:
        given = _flat(columns["id"])
        if pa.types.is_dictionary(given.type) and given.dictionary.null_count:
            given = _decoded(given)
        identified = given.is_valid().to_numpy(zero_copy_only=False) if given.null_count else None
        ids = hashed(given)
    time_us, later_us = _in_both_hours(numbers("time"), source.codes, numbers("later"))
    return EventBatch(
        time_us,
        source,
        unusable,
        key=_without_texts(coded(columns["key"])) if "key" in columns else None,
        ids=ids,
        identified=identified,
        weight=numbers("weight"),
        arrived_us=numbers("arrived"),
        skipped=numbers("skipped"),
        later_us=later_us,
    )


def _in_both_hours(
    time_us: Int64s, codes: npt.NDArray[np.int32], later_us: Int64s | None
) -> tuple[Int64s, Int64s | None]:
    """Rows of a repeated hour, half of them moved to the second: which is which nobody knows, and as many came in both.

    Of rows of a source with the same time every other one moves; which begins depends on the time alone, so that no
    count depends on how rows are split into batches.
    """
    if later_us is None or not later_us.any():
        return time_us, later_us
    at = np.flatnonzero(later_us)
    at = at[np.lexsort((time_us[at], codes[at]))]
    new = np.concatenate([[True], (np.diff(time_us[at]) != 0) | (np.diff(codes[at]) != 0)])
    number = np.arange(at.size)
    rank = number - np.maximum.accumulate(np.where(new, number, 0))
    second = at[((mixed(time_us[at].view(np.uint64)) ^ rank.astype(np.uint64)) & np.uint64(1)).astype(bool)]
    time_us, later_us = time_us.copy(), later_us.copy()
    time_us[second] += later_us[second]
    later_us[second] *= -1
    return time_us, later_us


def coded(column: pa.ChunkedArray | pa.Array) -> Coded:
    """Text as codes; names of a dictionary that no row uses are kept."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = _flat(column.unify_dictionaries())
    if column.dictionary.null_count:
        return coded(_decoded(column))
    indices = column.indices.fill_null(-1) if column.null_count else column.indices
    codes = indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return Coded(codes, [str(name) for name in column.dictionary.to_pylist()])


def _without_blanks(source: Coded) -> Coded:
    """The same with blanks stripped from names, since one source may be written in two ways."""
    names = [name.strip(BLANKS) for name in source.names]
    if names == source.names:
        return source
    distinct = list(dict.fromkeys(names))
    return Coded(np.array([distinct.index(name) for name in names], np.int32)[source.codes], distinct)


def _no_names(source: Coded) -> list[int]:
    """Codes whose text is not a valid name of a source."""
    return [-1] + [code for code, name in enumerate(source.names) if not 0 < len(name) <= MAX_NAME]


def _without_texts(key: Coded) -> Coded:
    """The same with overlong keys replaced by null."""
    if texts := [code for code, name in enumerate(key.names) if len(name) > MAX_NAME]:
        names = ["" if code in texts else name for code, name in enumerate(key.names)]
        return Coded(np.where(np.isin(key.codes, texts), np.int32(-1), key.codes), names)
    return key


def hashed(ids: pa.Array) -> UInt64s:
    """A 64-bit hash per id; arbitrary for null. Distinct integers never collide, texts with probability 2^-64."""
    if pa.types.is_dictionary(ids.type):
        names = hashed(ids.dictionary)
        return (
            names[ids.indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(names) else np.zeros(len(ids), "u8")
        )
    if pa.types.is_integer(ids.type):
        numbers = ids.fill_null(0)
        kind = np.uint64 if pa.types.is_unsigned_integer(ids.type) else np.int64
        return mixed(numbers.to_numpy(zero_copy_only=False).astype(kind, copy=False).view(np.uint64))
    texts = ids.cast(pa.large_binary()).fill_null(b"")
    # Offsets and bytes as Arrow keeps them; a slice has an offset of its own.
    _, offsets_buffer, data = texts.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    lengths = np.diff(offsets)
    result = np.empty(len(texts), np.uint64)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        result[rows] = _hashed_of_one_length(content, offsets[rows], int(length))
    return result


def mixed(values: UInt64s) -> UInt64s:
    """A bijection of 64 bits that spreads them evenly (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _hashed_of_one_length(content: npt.NDArray[np.uint8], begins: Int64s, length: int) -> UInt64s:
    if length == 0:
        return np.zeros(begins.size, np.uint64)
    words = -(-length // 8)
    padded = np.zeros((begins.size, 8 * words), np.uint8)
    if begins.size > 1 and (np.diff(begins) == length).all():
        padded[:, :length] = content[begins[0] : begins[0] + length * begins.size].reshape(-1, length)
    else:
        padded[:, :length] = content[begins[:, None] + np.arange(length)]
    # Mix the length, or "\0" would collide with "\3\0": length and a byte of the text would cancel.
    state = np.full(begins.size, mixed(np.array([length], np.uint64))[0])
    for word in padded.view("<u8").T:
        state = mixed(state ^ word) + np.uint64(0x9E3779B97F4A7C15)
    return state


def _decoded(column: pa.DictionaryArray) -> pa.Array:
    """Decoded, since only then a null among the dictionary's values is a null row."""
    return column.cast(column.type.value_type)


def _flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
