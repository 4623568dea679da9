"""Rows of any file that Spark can read, as the columns of batches, and descriptions of their defects."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows
from pyspark.sql.types import FractionalType, IntegralType, LongType, StringType, TimestampNTZType, TimestampType

from forecasting.arrivals.counting.event_batch import BLANKS, MAX_NAME, MAX_WEIGHT, ROLES
from forecasting.arrivals.counting.event_files import EventFiles
from forecasting.arrivals.counting.parquet_rows import zone_of_nanoseconds
from forecasting.arrivals.grid import DAY_S, SECOND_US
from forecasting.arrivals.spark_session import one_line
from forecasting.errors import HistoryError

_OFFSET = r"(Z|UTC|GMT|[+-]\d{2}(:?\d{2})?)\s*$"
# By itself Spark reads "2003" as New Year, "T12:00" as noon today, and accepts zone names after the time.
_DATE_AND_TIME = rf"^\s*\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}:\d{{2}}(\.\d+)?\s*({_OFFSET}|$)"
_TIME_REMEDY = "write ISO 8601 times such as 2003-03-03T07:00:00Z"
_CORRUPT = "_corrupt_record"
_ROW_BYTES = {"parquet": 12, "csv": 30, "jsonl": 50}
_PACKED = 8
"""Assumed compression ratio of text files."""


def loaded(spark: SparkSession, files: EventFiles) -> DataFrame:
    """The files unchanged, checked for every configured column. Reads only schemas. Raises HistoryError."""
    with reading(files):
        raw = _load(spark, files)
        if files.format == "parquet":
            raw = _without_nanoseconds(raw, files)
    for role, column in files.columns.named().items():
        if column not in raw.columns:
            raise HistoryError(
                f"events in {files.path} have no column {column!r} for the {role}; "
                f"they have {', '.join(c for c in raw.columns if c != _CORRUPT)}; correct arrivals.columns.{role}"
            )
    return raw


def file_names(spark: SparkSession, files: EventFiles) -> list[str]:
    """URIs of the files. Raises HistoryError if the path does not exist."""
    with reading(files):
        # Lists files as all Spark readers do, without opening them. It includes the summary files that some Parquet
        # writers leave behind, which Spark's Parquet reader skips.
        names = spark.read.format("binaryFile").load(str(files.path)).inputFiles()
    return [name for name in names if not name.rsplit("/", 1)[-1].startswith(("_", "."))]


def expected_rows(spark: SparkSession, files: EventFiles) -> int:
    """Estimated rows of files by their size, rather too many than too few."""
    with reading(files):
        listed = spark.read.format("binaryFile").load(str(files.path))
        packed = F.when(F.col("path").rlike(r"\.(gz|bz2|zst|snappy|lz4)$"), _PACKED).otherwise(1)
        row = listed.agg(F.sum(F.col("length") * packed)).first()
    assert row is not None
    return int((row[0] or 0) // _ROW_BYTES.get(files.format, 1)) + 1


def event_rows(raw: DataFrame, files: EventFiles) -> DataFrame:
    """The columns of ROLES that the files have. Missing or unreadable values are null."""
    return _parsed(raw, files).select(*(role for role in ROLES if role in _roles_of(raw, files)))


@dataclass(frozen=True)
class RowProblem:
    """Rows that cannot be counted. text: a sentence on those of one kind. damaged: all of them, of so many rows."""

    text: str
    damaged: int
    rows: int


def row_problem(raw: DataFrame, files: EventFiles) -> RowProblem:
    """Reads the data once more, which only a failure pays for. Raises HistoryError if there is none any more."""
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
        invalid = F.col("weight").isNull() | (F.col("weight") < 0) | (F.col("weight") > MAX_WEIGHT)
        bad, kinds = bad | invalid, kinds.when(invalid, "weight")
    if files.columns.arrived:
        invalid = F.col("arrived").isNull()
        bad, kinds = bad | invalid, kinds.when(invalid, "arrived")
    with reading(files):
        rows = parsed.count()
        found = parsed.where(bad).groupBy(kinds.alias("kind"))
        of_kinds = found.agg(F.count(F.lit(1)), F.min(F.struct("file", example.alias("value")))).orderBy("kind")
        several = of_kinds.collect()
    if not several:
        raise HistoryError(
            f"events in {files.path} changed while they were read; let their writer finish, run it again"
        )
    damaged = sum(row[1] for row in several)
    return RowProblem(_sentence(files, rows, several[0]), damaged, rows)


def _sentence(files: EventFiles, rows: int, of_kind: Row) -> str:
    kind, count, (file, value) = of_kind
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
                f"{where} have no valid weight in column {names.weight!r}, such as that of {value!r:.200} in "
                f"{file}; give whole numbers from 0 to {MAX_WEIGHT}"
            )
        case "arrived":
            return (
                f"{where} have no readable time of arrival in column {names.arrived!r}, such as that of {value!r:.200} "
                f"in {file}; {_TIME_REMEDY}"
            )
        case _:
            return (
                f"{where} have no source in column {names.source!r}, or one of more than {MAX_NAME} characters, "
                f"{such}; fill it in, or give one source for all events"
            )


@contextmanager
def reading(files: EventFiles) -> Iterator[None]:
    """Turns Spark's errors about unreadable files into a one-line HistoryError."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if "ModuleNotFoundError" in str(error):
            raise HistoryError(
                f"Spark's workers cannot count the events in {files.path}: {_cause(error)}; give them forescale with "
                "its dependencies (docs/history.md tells how)"
            ) from error
        raise HistoryError(
            f"events in {files.path} cannot be read as {files.format}: {_cause(error)}; check the path, "
            "the format, and that every file is whole and has the same columns"
        ) from error


def _load(spark: SparkSession, files: EventFiles) -> DataFrame:
    path = str(files.path)
    match files.format:
        case "csv":
            # enforceSchema would ignore that a file's columns are in another order. Without the column of corrupt rows
            # a torn row is a whole one with its last fields missing; a row of which only some columns are parsed is
            # never corrupt.
            columns = spark.read.csv(path, header=True, enforceSchema=False).schema.add(_CORRUPT, StringType())
            whole = spark.read.option("columnPruning", False)
            return whole.csv(path, columns, header=True, enforceSchema=False, columnNameOfCorruptRecord=_CORRUPT)
        case "jsonl":
            return spark.read.json(path, primitivesAsString=True, columnNameOfCorruptRecord=_CORRUPT)
        case _:
            # Otherwise Spark would refuse files that tasks can read directly.
            spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
            return spark.read.parquet(path)


def _roles_of(raw: DataFrame, files: EventFiles) -> set[str]:
    wall_clock = {"skipped", "later"} if _is_wall_clock(raw, files, files.columns.time) else set()
    return {"time", "source", *files.columns.named(), *wall_clock}


def _parsed(raw: DataFrame, files: EventFiles) -> DataFrame:
    """The columns of ROLES and, for the checks, `given` (raw time), `file` and `corrupt` (an unreadable line).

    All in one projection, since a file's name is lost after the first.
    """
    names = files.columns
    given_source = _column(names.source) if names.source else F.lit(files.source)
    corrupt = (F.col(_CORRUPT) if _CORRUPT in raw.columns else F.lit(None)).cast("string")
    name = F.trim(given_source.cast("string"), F.lit(BLANKS))
    columns = {
        # A torn row may have a whole time.
        "time": F.when(corrupt.isNull(), F.unix_micros(_moment(raw, files, names.time))),
        "source": F.when(F.length(name).between(1, MAX_NAME), name),
        "given": _column(names.time).cast("string"),
        "file": F.col("_metadata.file_path"),
        "corrupt": corrupt,
    }
    if names.key:
        columns["key"] = _column(names.key).cast("string")
    if names.id:
        whole = isinstance(raw.schema[names.id].dataType, IntegralType)
        columns["id"] = _column(names.id).cast("long" if whole else "string")
    if names.weight:
        columns["weight"] = _weight(raw, names.weight)
    if names.arrived:
        columns["arrived"] = F.unix_micros(_moment(raw, files, names.arrived))
    if names.arrived and _is_wall_clock(raw, files, names.arrived):
        # No row arrives before its event: in a repeated hour, one that seems to belongs to the second hour.
        arrived, later = columns["arrived"], _later(raw, files, names.arrived)
        too_soon = arrived + F.lit(int(files.max_ahead_s * SECOND_US)) < columns["time"]
        columns["arrived"] = F.when(too_soon, arrived + later).otherwise(arrived)
    if _is_wall_clock(raw, files, names.time):
        wall = _wall_clock(raw, names.time)
        # A skipped hour does not exist as a moment.
        moment = F.to_utc_timestamp(wall, files.timezone)
        columns["skipped"] = wall.isNotNull() & (F.from_utc_timestamp(moment, files.timezone) != wall)
        columns["later"] = _later(raw, files, names.time)
    return raw.select(*(column.alias(name) for name, column in columns.items()))


def _weight(raw: DataFrame, name: str) -> Column:
    column = _column(name)
    if isinstance(raw.schema[name].dataType, FractionalType):
        # Integers are stored as floats if some are missing.
        return F.when((column == F.floor(column)) & (F.abs(column) <= MAX_WEIGHT), column.cast("long"))
    return F.try_to_number(column.cast("string"), F.lit("9" * 18)).cast("long")


def _is_wall_clock(raw: DataFrame, files: EventFiles, name: str) -> bool:
    """Whether the column may hold times without an offset, in a time zone that is not UTC."""
    return files.timezone != "UTC" and not isinstance(raw.schema[name].dataType, TimestampType)


def _later(raw: DataFrame, files: EventFiles, name: str) -> Column:
    """Microseconds between the two moments at which the clock showed this time; zero if it did so only once.

    A day later the clock is set as it was at the second moment.
    """
    wall = _wall_clock(raw, name)
    moment = F.unix_micros(F.to_utc_timestamp(wall, files.timezone))
    day_on = F.from_utc_timestamp(F.timestamp_micros(moment + F.lit(DAY_S * SECOND_US)), files.timezone)
    later = F.unix_micros(wall) + F.lit(DAY_S * SECOND_US) - F.unix_micros(day_on)
    again = F.from_utc_timestamp(F.timestamp_micros(moment + later), files.timezone) == wall
    return F.coalesce(F.when((later > 0) & again, later), F.lit(0))


def _without_nanoseconds(raw: DataFrame, files: EventFiles) -> DataFrame:
    """With times in microseconds where Spark sees only integers, because the file stores nanoseconds."""
    for name in filter(None, (files.columns.time, files.columns.arrived)):
        if name in raw.columns and isinstance(raw.schema[name].dataType, LongType):
            zone = zone_of_nanoseconds(raw.inputFiles(), name)
            if zone is not None:
                moment = F.timestamp_micros(F.expr(f"{_quoted(name)} div 1000"))
                raw = raw.withColumn(name, moment if zone else moment.cast("timestamp_ntz"))
    return raw


def _wall_clock(raw: DataFrame, name: str) -> Column:
    """Times without an offset as wall-clock times (the session runs in UTC); null for times with an offset."""
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
            moment = F.when(column.rlike(_DATE_AND_TIME), F.try_to_timestamp(F.trim(column)))
            return F.when(column.rlike(_OFFSET), moment).otherwise(F.to_utc_timestamp(moment, files.timezone))
        case other:
            raise HistoryError(
                f"events in {files.path}: column {name!r} is {other.simpleString()}, not a time; "
                f"store timestamps, or {_TIME_REMEDY}"
            )


def _column(name: str) -> Column:
    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    # Backticks, so that a dot in a column's name is not read as a path into a struct.
    return "`" + name.replace("`", "``") + "`"


def _cause(error: PySparkException | Py4JJavaError) -> str:
    """The cause: the outer message names the file, the innermost one the reason."""
    if isinstance(error, PythonException):
        # A task's traceback: its last line tells what was wrong.
        return str(error).strip().splitlines()[-1].removeprefix(f"{HistoryError.__module__}.{HistoryError.__name__}: ")
    return one_line(error)
