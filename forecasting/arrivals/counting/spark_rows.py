"""Rows of any file that Spark can read, as the columns that batches are made of, and what is wrong with them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows
from pyspark.sql.types import IntegralType, StringType, TimestampNTZType, TimestampType

from forecasting.arrivals.counting.event_batch import ROLES
from forecasting.arrivals.counting.event_files import EventFiles
from forecasting.errors import HistoryError

_DATE_AND_TIME = r"^\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}"
_OFFSET = r"(Z|[+-]\d{2}(:?\d{2})?)\s*$"
_TIME_REMEDY = "write ISO 8601 times such as 2003-03-03T07:00:00Z"
_CORRUPT = "_corrupt_record"


def loaded(spark: SparkSession, files: EventFiles) -> DataFrame:
    """The files as they are, with every column that is named. Raises HistoryError; nothing is read yet but schemas."""
    with reading(files):
        raw = _load(spark, files)
    for role, column in files.columns.named().items():
        if column not in raw.columns:
            raise HistoryError(
                f"events in {files.path} have no column {column!r} for the {role}; "
                f"they have {', '.join(c for c in raw.columns if c != _CORRUPT)}; correct arrivals.columns.{role}"
            )
    return raw


def event_rows(raw: DataFrame, files: EventFiles) -> DataFrame:
    """The columns of ROLES that the files have. Null where a value is lacking or cannot be read."""
    return _parsed(raw, files).select(*(role for role in ROLES if role in _roles_of(raw, files)))


def first_problem(raw: DataFrame, files: EventFiles) -> str:
    """A sentence on rows that cannot be counted; looks at the data once more, which only a failure pays for."""
    parsed = _parsed(raw, files)
    bad = F.col("time").isNull() | F.col("source").isNull()
    kinds = (
        F.when(F.col("corrupt").isNotNull(), "corrupt")
        .when(F.col("time").isNull() & F.col("given").isNotNull(), "unparsable")
        .when(F.col("time").isNull(), "no time")
        .when(F.col("source").isNull(), "no source")
    )
    example = F.coalesce("corrupt", "given")
    if files.columns.weight:
        unfit = F.col("weight").isNull() | (F.col("weight") < 0)
        bad, kinds = bad | unfit, kinds.when(unfit, "weight")
    if files.columns.arrived:
        unfit = F.col("arrived").isNull()
        bad, kinds = bad | unfit, kinds.when(unfit, "arrived")
    with reading(files):
        rows = parsed.count()
        found = parsed.where(bad).groupBy(kinds.alias("kind"))
        row = found.agg(F.count(F.lit(1)), F.min(F.struct("file", example.alias("value")))).orderBy("kind").first()
    assert row is not None
    kind, count, (file, value) = row
    where, such = f"{count} of {rows} events in {files.path}", f"such as {value!r:.200} in {file}"
    names = files.columns
    match kind:
        case "corrupt":
            return f"{where} are not {files.format}, {such}; repair or remove them"
        case "unparsable":
            return f"{where} have no readable time in column {names.time!r}, {such}; {_TIME_REMEDY}"
        case "no time":
            return f"{where} have no time in column {names.time!r}, such as in {file}; fill it in or drop them"
        case "weight":
            return (
                f"{where} have no weight that counts in column {names.weight!r}, such as that of {value!r:.200} in "
                f"{file}; give whole numbers, not negative"
            )
        case "arrived":
            return (
                f"{where} have no readable time of arrival in column {names.arrived!r}, such as that of {value!r:.200} "
                f"in {file}; {_TIME_REMEDY}"
            )
        case _:
            return (
                f"{where} have no source in column {names.source!r}, {such}; fill it in, or give one source "
                "for all events"
            )


@contextmanager
def reading(files: EventFiles) -> Iterator[None]:
    """Turns what Spark says of files it cannot read into a HistoryError of one line."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise HistoryError(
            f"events in {files.path} cannot be read as {files.format}: {_cause(error)}; check the path, "
            "the format, and that every file is whole and has the same columns"
        ) from error


def _load(spark: SparkSession, files: EventFiles) -> DataFrame:
    path = str(files.path)
    match files.format:
        case "csv":
            # enforceSchema would read files whose columns come in another order as if they did not.
            return spark.read.csv(path, header=True, enforceSchema=False)
        case "jsonl":
            return spark.read.json(path, primitivesAsString=True, columnNameOfCorruptRecord=_CORRUPT)
        case _:
            return spark.read.parquet(path)


def _roles_of(raw: DataFrame, files: EventFiles) -> set[str]:
    wall_clock = {"skipped", "ambiguous"} if _tells_wall_clock(raw, files) else set()
    return {"time", "source", *files.columns.named(), *wall_clock}


def _parsed(raw: DataFrame, files: EventFiles) -> DataFrame:
    """The columns of ROLES, and for the checks `given` (time as it stands), `file` and `corrupt` (an unreadable line).

    One projection for all: once projected, a file's name is no longer to be had.
    """
    names = files.columns
    given_source = _column(names.source) if names.source else F.lit(files.source)
    columns = {
        "time": F.unix_micros(_moment(raw, files, names.time)),
        "source": F.nullif(F.trim(given_source.cast("string")), F.lit("")),
        "given": _column(names.time).cast("string"),
        "file": F.col("_metadata.file_path"),
        "corrupt": (F.col(_CORRUPT) if _CORRUPT in raw.columns else F.lit(None)).cast("string"),
    }
    if names.key:
        columns["key"] = _column(names.key).cast("string")
    if names.id:
        whole = isinstance(raw.schema[names.id].dataType, IntegralType)
        columns["id"] = _column(names.id).cast("long" if whole else "string")
    if names.weight:
        columns["weight"] = F.try_to_number(_column(names.weight).cast("string"), F.lit("999999999999999999")).cast(
            "long"
        )
    if names.arrived:
        columns["arrived"] = F.unix_micros(_moment(raw, files, names.arrived))
    if _tells_wall_clock(raw, files):
        wall = _wall_clock(raw, names.time)
        moment = F.to_utc_timestamp(wall, files.timezone)
        # An hour that is skipped has no moment of its own; one that is repeated has another moment an hour later.
        columns["skipped"] = wall.isNotNull() & (F.from_utc_timestamp(moment, files.timezone) != wall)
        later = moment + F.expr("INTERVAL 1 HOUR")
        columns["ambiguous"] = wall.isNotNull() & (F.from_utc_timestamp(later, files.timezone) == wall)
    return raw.select(*(column.alias(name) for name, column in columns.items()))


def _tells_wall_clock(raw: DataFrame, files: EventFiles) -> bool:
    """Whether there may be times without an offset, in a time zone that is not UTC."""
    return files.timezone != "UTC" and not isinstance(raw.schema[files.columns.time].dataType, TimestampType)


def _wall_clock(raw: DataFrame, name: str) -> Column:
    """Times without an offset as the clock showed them (the session runs in UTC); null for times that have one."""
    column = _column(name)
    if isinstance(raw.schema[name].dataType, TimestampNTZType):
        return column.cast("timestamp")
    shown = F.when(column.rlike(_DATE_AND_TIME), F.try_to_timestamp(F.trim(column)))
    return F.when(~column.rlike(_OFFSET), shown)


def _moment(raw: DataFrame, files: EventFiles, name: str) -> Column:
    column = _column(name)
    match raw.schema[name].dataType:
        case TimestampType():
            return column
        case TimestampNTZType():
            return F.to_utc_timestamp(_wall_clock(raw, name), files.timezone)
        case StringType():
            # Spark alone would take "2003" for New Year and "T12:00" for noon of today.
            moment = F.when(column.rlike(_DATE_AND_TIME), F.try_to_timestamp(F.trim(column)))
            return F.when(column.rlike(_OFFSET), moment).otherwise(F.to_utc_timestamp(moment, files.timezone))
        case other:
            raise HistoryError(
                f"events in {files.path}: column {name!r} is {other.simpleString()}, not a time; "
                f"store timestamps, or {_TIME_REMEDY}"
            )


def _column(name: str) -> Column:
    # Backticks: a dot in a column's name is not a path into a struct.
    return F.col("`" + name.replace("`", "``") + "`")


def _cause(error: PySparkException | Py4JJavaError) -> str:
    """What went wrong, in one line: the outer message names the file, the innermost one the reason."""
    if isinstance(error, PythonException):
        # A task's traceback: its last line tells what was wrong.
        return str(error).strip().splitlines()[-1]
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
