"""Where raw events are stored and what their columns mean. Independent of Spark, so settings can build it anywhere."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from forecasting.arrivals.arrival_source import Measures
from forecasting.errors import HistoryError

_MAX_S = 100 * 366 * 86_400
Format = Literal["parquet", "csv", "jsonl"]


@dataclass(frozen=True)
class EventColumns:
    """Names of the columns in the raw files.

    time: when the event occurred. source: the source of the topology that it arrived at. key: the grouping key of the
    stream. id: identity within the source; rows that share it are copies of one event. weight: number of events per
    row, if already aggregated. arrived: when the row was recorded.
    """

    time: str
    source: str | None = None
    key: str | None = None
    id: str | None = None
    weight: str | None = None
    arrived: str | None = None

    def named(self) -> dict[str, str]:
        """Column names by role, for the roles that are set."""
        return {role: column for role, column in asdict(self).items() if column is not None}


@dataclass(frozen=True)
class EventFiles:
    """Raw events of one topology.

    path: a file, or a folder of files (`date=…` folders are fine), as Spark reads it.
    format: of the files; CSV has a header line.
    source: the one source of all events, if no column names it.
    timezone: of times without an offset. In the hour that daylight saving repeats such times are ambiguous: half of
    them count in each of the two hours, and both are partial. Times in the hour that it skips go to quarantine.
    coverage: CSV or Parquet file (source, alive_from, alive_to) of when the feed was alive.
    max_silence_s: without a coverage file, the feed counts as alive between consecutive events of a source at most this
    far apart.
    max_copy_gap_s: a row is a copy if a row with its id came at most this long before it.
    lateness_s: a window is closed this long after its end. With a column `arrived`, later rows are late and never
    count. Without it, rows count whenever their window is read; closed windows are not read again, so later rows count
    only once their interval is rebuilt by hand.
    max_ahead_s: rows stamped more than this after their arrival (or, without that column, after now) are in the future.
    not_before: rows stamped earlier come from a clock that was not set. Without the column, such rows are reported only
    with the newest window that has ended.
    span_s: length of the span, from its time on, that a weighted row covers; all of it counts in the window in which it
    starts.
    measures: what the events count; for throughput, nothing shows when the source was held back.
    Raises HistoryError for an unknown format or time zone, and unless the source is given exactly once.
    """

    path: Path | str
    columns: EventColumns
    format: Format = "parquet"
    source: str | None = None
    timezone: str = "UTC"
    coverage: Path | None = None
    max_silence_s: float = 3600
    max_copy_gap_s: float = 86400
    lateness_s: float = 3600
    max_ahead_s: float = 300
    not_before: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    span_s: float = 0
    measures: Measures = Measures.OFFERED

    def __post_init__(self) -> None:
        where = f"events in {self.path}"
        if self.format not in get_args(Format):
            raise HistoryError(f"{where}: format {self.format!r}; use one of {', '.join(get_args(Format))}")
        if (self.columns.source is None) == (self.source is None):
            raise HistoryError(
                f"{where}: source column {self.columns.source!r} and constant source {self.source!r}; give one of them"
            )
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise HistoryError(
                f"{where}: unknown time zone {self.timezone!r}; use a name such as Europe/Berlin"
            ) from None
        if not self.max_silence_s > 0:
            raise HistoryError(f"{where}: max_silence_s {self.max_silence_s}; give a positive number of seconds")
        for name in ("max_silence_s", "max_copy_gap_s", "lateness_s", "max_ahead_s", "span_s"):
            if not 0 <= getattr(self, name) <= _MAX_S:
                raise HistoryError(
                    f"{where}: {name} {getattr(self, name)}; give seconds, not negative and at most {_MAX_S}"
                )
        if self.not_before.tzinfo is None:
            raise HistoryError(f"{where}: not_before {self.not_before} has no time zone; give it in UTC")
        if self.span_s and self.columns.weight is None:
            raise HistoryError(f"{where}: span_s {self.span_s} without a weight column; name it, or leave span_s out")
