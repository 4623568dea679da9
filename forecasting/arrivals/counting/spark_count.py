"""Counts raw events with Spark: tasks read and count, the shuffle merges.

Two stages. The first reads rows, some hundred thousand at a time, and passes on tallies (merged per task), rows that
may have copies (by bucket of their id), and key counts. The second merges tallies and finds copies; it is skipped if
tallies are few and neither copies nor keys are wanted. Arrow blocks pass through the JVM, not rows.
"""

import gc
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows

from forecasting.arrivals.counting.copies import copies, identified_rows
from forecasting.arrivals.counting.event_batch import EventBatch, event_batch
from forecasting.arrivals.counting.event_files import EventFiles
from forecasting.arrivals.counting.key_counts import key_counts, merged_keys
from forecasting.arrivals.counting.parquet_rows import RowGroup, batches, splits
from forecasting.arrivals.counting.spark_rows import event_rows, expected_rows, reading
from forecasting.arrivals.counting.tally import TALLY, Rules, merged_tally, tally, triaged
from forecasting.arrivals.grid import SECOND_US

_BUCKET_ROWS = 3_000_000
"""Rows of one bucket are processed together, some 200 MB at a time."""
_RANGE_CELLS = 1_000_000
_MERGED_AT_ONCE = 16
"""Tallies of batches merged at once; memory grows with their content, not with their number."""
_OVERLAP = 2.0
"""Tallies that span the interval at most this many times are merged as they come; beyond that, tasks merge them."""


class _Block(IntEnum):
    TALLY = 0
    COPIES = 1
    KEYS = 2
    UNUSABLE = 3


_BLOCKS = "place int, kind int, content binary"
_SCHEMA = pa.schema([("place", pa.int32()), ("kind", pa.int32()), ("content", pa.binary())])


@dataclass(frozen=True)
class Counted:
    """The result: a tally without copies, key counts, and the number of rows that cannot be counted."""

    tally: pa.Table
    keys: tuple[pa.Table, ...]
    unusable: int


@dataclass(frozen=True)
class _Plan:
    """How the work is split. gap_us: None without an id column. ranges: number of bin ranges, each merged by itself."""

    files: EventFiles
    rules: Rules
    gap_us: int | None
    buckets: int
    ranges: int

    @property
    def places(self) -> int:
        return self.buckets + self.ranges + 1


def count(
    spark: SparkSession, raw: Callable[[], DataFrame], groups: list[RowGroup] | None, files: EventFiles, rules: Rules
) -> Counted:
    """Count the events of the files in the bins of the rules.

    raw: the files as Spark reads them. groups: their row groups, if tasks can read them directly.
    Raises HistoryError for files that cannot be read.
    """
    gap_us = int(files.max_copy_gap_s * SECOND_US) if files.columns.id else None
    lots = None if groups is None else splits(groups, rules, gap_us or 0)
    rows = expected_rows(spark, files) if lots is None and gap_us is not None else 0
    if lots is not None:
        rows = sum(group.rows for lot in lots for group in lot)
    bins = (rules.bins.high_us - rules.bins.low_us) // rules.bins.window_us * rules.bins.per_window
    plan = _Plan(
        files,
        rules,
        gap_us,
        buckets=0 if gap_us is None else -(-rows // _BUCKET_ROWS),
        ranges=max(1, min(64, bins * 200 // _RANGE_CELLS)),
    )
    if lots == []:
        return Counted(TALLY.empty_table(), (), 0)
    with reading(files):
        if lots is None:
            first = _rows_at_issue(raw(), plan).mapInArrow(partial(_counted_rows, plan), _BLOCKS)
        else:
            tasks = spark.range(0, len(lots), 1, len(lots))
            first = tasks.mapInArrow(partial(_counted_lots, plan, lots), _BLOCKS)
        if lots is None or gap_us is not None or files.columns.key or _overlap(lots, rules) > _OVERLAP:
            first = first.repartitionById(plan.places, "place").mapInArrow(partial(_brought_together, plan), _BLOCKS)
        blocks = first.toArrow()
    found: dict[int, list[bytes]] = {}
    for kind, content in zip(blocks["kind"].to_pylist(), blocks["content"], strict=True):
        found.setdefault(kind, []).append(content.as_buffer())
    return Counted(
        merged_tally(_table(content) for content in found.get(_Block.TALLY, [])),
        tuple(_table(content) for content in found.get(_Block.KEYS, [])),
        sum(_table(content)["rows"][0].as_py() for content in found.get(_Block.UNUSABLE, [])),
    )


def _overlap(lots: Sequence[Sequence[RowGroup]], rules: Rules) -> float:
    """How many times the lots together span the bins: once if they do not overlap in time."""
    low_us, high_us = rules.bins.low_us, rules.bins.high_us
    spans_us = [
        min(high_us, max(group.last_us for group in lot)) - max(low_us, min(group.first_us for group in lot))
        for lot in lots
    ]
    return sum(max(0, span_us) for span_us in spans_us) / (high_us - low_us)


def _rows_at_issue(raw: DataFrame, plan: _Plan) -> DataFrame:
    """Rows of the interval and of the look-back, and rows that may be set aside or reported."""
    rules = plan.rules
    rows, time = event_rows(raw, plan.files), F.col("time")
    low_us = rules.bins.low_us - (plan.gap_us or 0)
    near = (time >= F.lit(low_us)) & (time < F.lit(rules.bins.high_us))
    aside = (time < F.lit(rules.not_before_us)) | (time > F.lit(rules.future_us))
    if plan.files.columns.arrived:
        arrived = F.col("arrived")
        aside &= arrived.isNull() | ((arrived >= F.lit(low_us)) & (arrived < F.lit(rules.bins.high_us)))
    return rows.where(near | aside | time.isNull())


@cache
def _settle_in() -> None:
    """Sets up a worker process, once before its first task."""
    # Every core already has a task; more threads would only compete.
    pa.set_cpu_count(1)
    # Spark's worker collects garbage after every task; freezing the modules saves 50 ms each time.
    gc.freeze()


def _counted_rows(plan: _Plan, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    _settle_in()
    yield from _counted(plan, (event_batch(rows) for rows in given if rows.num_rows))


def _counted_lots(plan: _Plan, lots: list[list[RowGroup]], given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    _settle_in()
    for numbers in given:
        for number in numbers.column(0).to_pylist():
            yield from _counted(plan, batches(lots[number], plan.files))


def _counted(plan: _Plan, given: Iterable[EventBatch]) -> Iterator[pa.RecordBatch]:
    tallies, keys, unusable = [], [], 0
    bins = plan.rules.bins
    for batch in given:
        triage = triaged(batch, plan.rules)
        tallies.append(tally(batch, triage, plan.rules))
        keys.append(key_counts(batch, triage, bins))
        unusable += batch.unusable
        if plan.gap_us is not None:
            yield _blocks(
                (bucket, _Block.COPIES, rows)
                for bucket, rows in identified_rows(batch, triage, bins, plan.gap_us, plan.buckets)
            )
        if len(keys) >= _MERGED_AT_ONCE:
            tallies, keys = [merged_tally(tallies)], [merged_keys(keys)]
    merged = merged_tally(tallies)
    total = (bins.high_us - bins.low_us) // bins.window_us * bins.per_window
    of_range = merged["bin"].to_numpy().astype(np.int64) * plan.ranges // total
    yield _blocks(
        (plan.buckets + int(number), _Block.TALLY, merged.filter(pa.array(of_range == number)))
        for number in np.unique(of_range)
    )
    last = plan.places - 1
    yield _blocks((place, _Block.KEYS, found) for place, found in _by_source(merged_keys(keys), plan.places))
    yield _blocks([(last, _Block.UNUSABLE, pa.table({"rows": [unusable]}))] if unusable else [])


def _by_source(keys: pa.Table, places: int) -> Iterator[tuple[int, pa.Table]]:
    """Key counts by place; those of one source share a place."""
    if keys.num_rows == 0:
        return
    source = keys["source"].combine_chunks().dictionary_encode()
    of_name = np.array([zlib.crc32(name.encode()) % places for name in source.dictionary.to_pylist()])
    place = of_name[source.indices.to_numpy()]
    for number in np.unique(place):
        yield int(number), keys.filter(pa.array(place == number))


def _brought_together(plan: _Plan, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    _settle_in()
    found: dict[int, dict[int, list[pa.Table]]] = {}
    for blocks in given:
        for place, kind, content in zip(*(blocks.column(name) for name in range(3)), strict=True):
            found.setdefault(kind.as_py(), {}).setdefault(place.as_py(), []).append(_table(content.as_buffer()))
    for kind, places in found.items():
        for place, tables in places.items():
            match kind:
                case _Block.TALLY:
                    yield _blocks([(place, _Block.TALLY, merged_tally(tables))])
                case _Block.KEYS:
                    yield _blocks([(place, _Block.KEYS, merged_keys(tables))])
                case _Block.COPIES:
                    assert plan.gap_us is not None
                    taken = copies(tables, plan.rules.bins, plan.gap_us)
                    yield _blocks([(place, _Block.TALLY, merged_tally([taken]))])
                case _:
                    yield _blocks((place, _Block(kind), table) for table in tables)


def _blocks(blocks: Iterable[tuple[int, _Block, pa.Table]]) -> pa.RecordBatch:
    rows = [(place, int(kind), _bytes(table)) for place, kind, table in blocks]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    table = table.unify_dictionaries().combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _table(content: pa.Buffer) -> pa.Table:
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()
