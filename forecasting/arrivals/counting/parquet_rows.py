"""Rows of Parquet files, read directly by the counting task, so that no row passes through the JVM.

Only for files that need no interpretation (time stamps in UTC, text or integers as ids) on a file system that Arrow
supports; Spark reads all others (see spark_rows).
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute
import pyarrow.fs
import pyarrow.parquet

from forecasting.arrivals.counting.event_batch import EventBatch, event_batch
from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.counting.tally import Rules
from forecasting.bounded_file import check_regular
from forecasting.errors import HistoryError

_READERS = 8
_LOT_ROWS = 4_000_000
"""Large enough to outweigh a task's start; fixed, so that results are the same on every machine."""
_BATCH_ROWS = 262_144
"""Small enough for a core's cache: this takes half the time of a million rows at once."""
_ANY = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file. first_us, last_us: bounds of its times, unlimited if the file has none.

    came_first_us, came_last_us: the same for arrival times, if there is such a column.
    """

    uri: str
    number: int
    rows: int
    first_us: int
    last_us: int
    came_first_us: int
    came_last_us: int


def row_groups(uris: Sequence[str], files: EventFiles) -> list[RowGroup] | None:
    """The row groups of all files, from their footers; None if any file cannot be read here.

    Raises HistoryError if Spark would then misread the times of some files.
    """
    if files.format != "parquet":
        return None
    with ThreadPoolExecutor(_READERS) as pool:
        found = [file for file in pool.map(lambda uri: _of_file(uri, files.columns), uris) if file is not None]
    ids = {file.kinds["id"] for file in found if "id" in file.kinds}
    if len(found) == len(uris) and all(file.fit for file in found) and len(ids) <= 1:
        return [group for file in found for group in file.groups]
    for role in ("time", "arrived"):
        uri_by_kind: dict[str, str] = {}
        for file in found:
            if role in file.kinds:
                uri_by_kind.setdefault(file.kinds[role], file.uri)
        if len(uri_by_kind) > 1:
            (kind, uri), (other, elsewhere), *_ = uri_by_kind.items()
            raise HistoryError(
                f"events in {files.path}: column {files.columns.named()[role]!r} holds {kind} in {uri} and {other} in "
                f"{elsewhere}; store it in one way, or build the history from each apart"
            )
    return None


def zone_of_nanoseconds(uris: Sequence[str], column: str) -> bool | None:
    """Whether a column of nanosecond times is in UTC (False: without a zone); None for any other column."""
    for uri in uris:
        with suppress(OSError, pa.ArrowException, ValueError), _opened(uri, []) as file:
            kind = file.schema_arrow.field(column).type if file.schema_arrow.names.count(column) == 1 else pa.null()
            return kind.tz is not None if pa.types.is_timestamp(kind) and kind.unit == "ns" else None
    return None


def splits(groups: Sequence[RowGroup], rules: Rules, look_back_us: int) -> list[list[RowGroup]]:
    """The row groups that may hold rows of the bins, of look_back_us before them, or rows to be set aside with them, in
    lots of a few million rows, one per task.

    Groups adjacent in time stay together, so that a task sees one stretch of time instead of all.
    """
    low_us, high_us = rules.bins.low_us - look_back_us, rules.bins.high_us
    aside = rules.arrivals or rules.bins.low_us <= rules.newest_us < high_us
    wanted = [
        group
        for group in groups
        if (group.last_us >= low_us and group.first_us < high_us)
        or (
            aside
            and (group.first_us < rules.not_before_us or group.last_us > max(high_us, rules.future_us))
            and group.came_last_us >= low_us
            and group.came_first_us < high_us
        )
    ]
    wanted.sort(key=lambda group: (group.first_us, group.uri, group.number))
    lots: list[list[RowGroup]] = []
    rows = _LOT_ROWS
    for group in wanted:
        if rows >= _LOT_ROWS:
            lots.append([])
            rows = 0
        lots[-1].append(group)
        rows += group.rows
    return lots


def batches(lot: Sequence[RowGroup], files: EventFiles) -> Iterator[EventBatch]:
    """The rows of a lot, some hundred thousand at a time. Raises HistoryError for a file that has changed."""
    for uri, found in groupby(lot, lambda group: group.uri):
        try:
            for batch in _read(uri, [group.number for group in found], files):
                yield event_batch(_with_roles(batch, files))
        except (OSError, pa.ArrowException) as error:
            raise HistoryError(f"{uri}: {' '.join(str(error).split())}") from None


def _read(uri: str, groups: list[int], files: EventFiles) -> Iterator[pa.RecordBatch]:
    names = files.columns.named()
    with _opened(uri, [names[role] for role in ("source", "key") if role in names]) as file:
        columns = sorted(set(names.values()))
        for number in groups:
            yield from file.iter_batches(_BATCH_ROWS, row_groups=[number], columns=columns, use_threads=False)


def _with_roles(batch: pa.RecordBatch, files: EventFiles) -> pa.Table:
    columns = {role: batch.column(name) for role, name in files.columns.named().items()}
    for role in ("time", "arrived"):
        if role in columns:
            columns[role] = _micros(columns[role])
    if files.source is not None:
        names = pa.array([files.source])
        columns["source"] = pa.DictionaryArray.from_arrays(pa.nulls(len(batch), pa.int32()).fill_null(0), names)
    if "weight" in columns:
        columns["weight"] = columns["weight"].cast(pa.int64())
    return pa.table(columns)


def _micros(times: pa.Array) -> pa.Array:
    unit_us = {"s": 1_000_000, "ms": 1000}.get(times.type.unit)
    if unit_us is None:
        return times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64())
    # A clock that is not set may show a time beyond the range of microseconds, which a cast would wrap.
    most = pa.scalar((2**63 - 1) // unit_us)
    bounded = pa.compute.min_element_wise(times.cast(pa.int64()), most, skip_nulls=False)
    least = pa.compute.negate(most)
    return pa.compute.multiply(pa.compute.max_element_wise(bounded, least, skip_nulls=False), unit_us)


def _opened(uri: str, as_codes: list[str]) -> pyarrow.parquet.ParquetFile:
    file_system, path = _place(uri)
    local = isinstance(file_system, pyarrow.fs.LocalFileSystem)
    if local:
        check_regular(Path(path), _ANY[1])
    return pyarrow.parquet.ParquetFile(
        path, filesystem=file_system, read_dictionary=as_codes, memory_map=local, pre_buffer=not local
    )


def _is_empty(uri: str) -> bool:
    try:
        file_system, path = _place(uri)
        return bool(file_system.get_file_info(path).size == 0)
    except (OSError, pa.ArrowException, ValueError):
        return False


def _place(uri: str) -> tuple[pyarrow.fs.FileSystem, str]:
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return pyarrow.fs.LocalFileSystem(), unquote(parts.path)
    # Hadoop's name for S3.
    file_system, path = pyarrow.fs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    return file_system, path


@dataclass(frozen=True)
class _File:
    """Contents of a footer. kinds: column types of some roles, to compare files. fit: whether it can be read here."""

    uri: str
    kinds: dict[str, str]
    fit: bool
    groups: list[RowGroup]


def _of_file(uri: str, columns: EventColumns) -> _File | None:
    try:
        file = _opened(uri, [])
    except (OSError, pa.ArrowException, ValueError):
        if _is_empty(uri):
            # Spark would skip it as if there had been no arrivals.
            raise HistoryError(f"{uri} is empty and not a Parquet file; remove it, or have it written again") from None
        # Spark may read what Arrow cannot, or it reports what is wrong.
        return None
    with file:
        schema, footer = file.schema_arrow, file.metadata
    # Index among the leaves, which nested columns shift.
    leaves = [footer.schema.column(number) for number in range(footer.num_columns)]
    paths = [leaf.path for leaf in leaves]
    named = columns.named()
    kinds, fit = {}, True
    for role, name in named.items():
        # A dot may also select a struct's field, and Spark takes a column's value from a folder `name=value`.
        if schema.names.count(name) != 1 or "." in name or f"/{name}=" in unquote(urlsplit(uri).path):
            fit = False
            continue
        kind = schema.field(name).type
        # INT96 times are in UTC, though the schema does not say so.
        old = name in paths and leaves[paths.index(name)].physical_type == "INT96"
        fit &= _fit(role, kind) and not old
        if role in ("time", "arrived"):
            kinds[role] = "times in UTC" if old else _time_kind(kind)
        elif role == "id":
            kinds[role] = "unsigned" if kind == pa.uint64() else "whole" if pa.types.is_integer(kind) else "other"
    if not fit:
        return _File(uri, kinds, False, [])
    groups = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        bounds = [
            _bounds(group.column(paths.index(name))) if name else _ANY for name in (columns.time, columns.arrived)
        ]
        groups.append(RowGroup(uri, number, group.num_rows, *bounds[0], *bounds[1]))
    return _File(uri, kinds, True, groups)


def _time_kind(kind: pa.DataType) -> str:
    if not pa.types.is_timestamp(kind):
        return f"no timestamps ({kind})"
    where = "times without a zone" if kind.tz is None else "times in UTC"
    return f"{where} in nanoseconds" if kind.unit == "ns" else where


def _fit(role: str, kind: pa.DataType) -> bool:
    match role:
        case "time" | "arrived":
            return bool(pa.types.is_timestamp(kind) and kind.tz is not None)
        case "weight":
            return bool(pa.types.is_integer(kind))
        case "id":
            return bool(pa.types.is_integer(kind)) or _is_text(kind)
        case _:
            return _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _bounds(column: pyarrow.parquet.ColumnChunkMetaData) -> tuple[int, int]:
    statistics = column.statistics
    # A row group with nulls must always be read, since nulls are reported.
    if not column.is_stats_set or not statistics.has_min_max or statistics.null_count != 0:
        return _ANY
    unit = json.loads(statistics.logical_type.to_json()).get("timeUnit")
    # Use integers: a clock that is not set may show a time that no datetime can hold.
    match unit:
        case "milliseconds":
            return statistics.min_raw * 1000, statistics.max_raw * 1000
        case "microseconds":
            return statistics.min_raw, statistics.max_raw
        case "nanoseconds":
            return statistics.min_raw // 1000, -(-statistics.max_raw // 1000)
        case _:
            return _ANY
