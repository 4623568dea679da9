"""Raw events as Spark reads them: one frame of checked times, sources, keys and ids, whatever the files look like."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows
from pyspark.sql.types import StringType, TimestampNTZType, TimestampType

from forecasting.arrivals.event_source import EventSource
from forecasting.arrivals.grid import from_us
from forecasting.errors import HistoryError

_DATE_AND_TIME = r"^\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}"
_OFFSET = r"(Z|[+-]\d{2}(:?\d{2})?)\s*$"
_TIME_REMEDY = "write ISO 8601 times such as 2003-03-03T07:00:00Z"
_CORRUPT = "_corrupt_record"


@dataclass(frozen=True)
class Events:
    """Checked events.

    frame: columns event_time (timestamp) and source (text), both never null; key and event_id (text), null where
    the files have no such column or value. rows: how many; first, last: their times, UTC.
    """

    frame: DataFrame
    rows: int
    first: datetime
    last: datetime


def read_events(spark: SparkSession, source: EventSource) -> Events:
    """The events of a source, every row of it checked.

    Raises HistoryError for files that cannot be read, a missing column, and null or unparsable times and sources; it
    names the file, the column, the number of rows, an example and the remedy.
    """
    with reading(source):
        raw = _load(spark, source)
        for role, column in source.columns.named().items():
            if column not in raw.columns:
                raise HistoryError(
                    f"events in {source.path} have no column {column!r} for the {role}; "
                    f"they have {', '.join(c for c in raw.columns if c != _CORRUPT)}; correct arrivals.columns.{role}"
                )
        parsed = _parsed(raw, source)
        rows, first_us, last_us, bad = _checked(parsed)
        if bad:
            raise HistoryError(_first_problem(parsed, source, rows))
    if rows == 0:
        raise HistoryError(f"{source.path} holds no event; check the path, or wait for the first events")
    frame = parsed.select("event_time", "source", "key", "event_id")
    return Events(frame, rows, from_us(first_us), from_us(last_us))


@contextmanager
def reading(source: EventSource) -> Iterator[None]:
    """Turns what Spark says of files it cannot read into a HistoryError of one line."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise HistoryError(
            f"events in {source.path} cannot be read as {source.format}: {_cause(error)}; check the path, "
            "the format, and that every file is whole and has the same columns"
        ) from error


def _load(spark: SparkSession, source: EventSource) -> DataFrame:
    path = str(source.path)
    match source.format:
        case "csv":
            # enforceSchema would read files whose columns come in another order as if they did not.
            return spark.read.csv(path, header=True, enforceSchema=False)
        case "jsonl":
            return spark.read.json(path, primitivesAsString=True, columnNameOfCorruptRecord=_CORRUPT)
        case _:
            return spark.read.parquet(path)


def _parsed(raw: DataFrame, source: EventSource) -> DataFrame:
    """The events, and for the checks `given` (time as it stands), `file` and `corrupt` (a line that is unreadable)."""
    names = source.columns
    given_source = _column(names.source) if names.source else F.lit(source.source)
    return raw.select(
        _event_time(raw, source).alias("event_time"),
        F.nullif(F.trim(given_source.cast("string")), F.lit("")).alias("source"),
        (_column(names.key) if names.key else F.lit(None)).cast("string").alias("key"),
        (_column(names.id) if names.id else F.lit(None)).cast("string").alias("event_id"),
        _column(names.time).cast("string").alias("given"),
        F.col("_metadata.file_path").alias("file"),
        (F.col(_CORRUPT) if _CORRUPT in raw.columns else F.lit(None)).cast("string").alias("corrupt"),
    )


def _event_time(raw: DataFrame, source: EventSource) -> Column:
    column = _column(source.columns.time)
    match raw.schema[source.columns.time].dataType:
        case TimestampType():
            return column
        case TimestampNTZType():
            # The session runs in UTC, so the cast keeps the wall clock, and the zone is then applied to it.
            return F.to_utc_timestamp(column.cast("timestamp"), source.timezone)
        case StringType():
            # Spark alone would take "2003" for New Year and "T12:00" for noon of today.
            moment = F.when(column.rlike(_DATE_AND_TIME), F.try_to_timestamp(F.trim(column)))
            return F.when(column.rlike(_OFFSET), moment).otherwise(F.to_utc_timestamp(moment, source.timezone))
        case other:
            raise HistoryError(
                f"events in {source.path}: column {source.columns.time!r} is {other.simpleString()}, not a time; "
                f"store timestamps, or {_TIME_REMEDY}"
            )


def _column(name: str) -> Column:
    # Backticks: a dot in a column's name is not a path into a struct.
    return F.col("`" + name.replace("`", "``") + "`")


def _bad() -> Column:
    return F.col("event_time").isNull() | F.col("source").isNull()


def _checked(parsed: DataFrame) -> tuple[int, int, int, int]:
    """Rows, first and last time in microseconds, and how many rows are not fit to be counted."""
    row = parsed.agg(
        F.count(F.lit(1)),
        F.unix_micros(F.min("event_time")),
        F.unix_micros(F.max("event_time")),
        F.count_if(_bad()),
    ).first()
    assert row is not None
    return row[0], row[1], row[2], row[3]


def _first_problem(parsed: DataFrame, source: EventSource, rows: int) -> str:
    """A sentence on the rows that were found wanting; looks at the data once more, which only a failure pays for."""
    kinds = (
        F.when(F.col("corrupt").isNotNull(), "corrupt")
        .when(F.col("event_time").isNull() & F.col("given").isNotNull(), "unparsable")
        .when(F.col("event_time").isNull(), "no time")
        .otherwise("no source")
    )
    example = F.struct("file", F.coalesce("corrupt", "given").alias("value"))
    found = parsed.where(_bad()).groupBy(kinds.alias("kind")).agg(F.count(F.lit(1)), F.min(example)).orderBy("kind")
    row = found.first()
    assert row is not None
    kind, count, (file, value) = row
    where, such = f"{count} of {rows} events in {source.path}", f"such as {value!r:.200} in {file}"
    match kind:
        case "corrupt":
            return f"{where} are not {source.format}, {such}; repair or remove them"
        case "unparsable":
            return f"{where} have no readable time in column {source.columns.time!r}, {such}; {_TIME_REMEDY}"
        case "no time":
            return f"{where} have no time in column {source.columns.time!r}, such as in {file}; fill it in or drop them"
        case _:
            return (
                f"{where} have no source in column {source.columns.source!r}, {such}; fill it in, or give one source "
                "for all events"
            )


def _cause(error: PySparkException | Py4JJavaError) -> str:
    """What went wrong, in one line: the outer message names the file, the innermost one the reason."""
    if isinstance(error, PySparkException):
        return _first_line(str(error))
    messages, java = [], error.java_exception
    while java is not None:
        messages.append(_first_line(java.getMessage() or java.toString()))
        java = java.getCause()
    outer, inner = messages[0], messages[-1]
    return outer if inner in outer else f"{outer}: {inner}"


def _first_line(message: str) -> str:
    """Without Spark's own names of the error."""
    return re.sub(r"^\[[A-Z_.]+\] |\s*SQLSTATE: \w+", "", message.strip().splitlines()[0]).rstrip(". ")
