"""Where raw events lie and what their columns mean. Knows no Spark, so settings can be turned into it anywhere."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from forecasting.arrivals.arrival_source import Measures
from forecasting.errors import HistoryError

_LONGEST_S = 100 * 366 * 86_400
Format = Literal["parquet", "csv", "jsonl"]


@dataclass(frozen=True)
class EventColumns:
    """Names of the columns in the raw files.

    time: when the event came. source: which source of the topology it came to. key: what the stream is grouped by.
    id: the event's identity within its source; rows that share it are copies of one event. weight: how many events a
    row stands for, where they were counted before. arrived: when the row came to where it was recorded.
    """

    time: str
    source: str | None = None
    key: str | None = None
    id: str | None = None
    weight: str | None = None
    arrived: str | None = None

    def named(self) -> dict[str, str]:
        """Role to column name, for the roles that are given."""
        return {role: column for role, column in asdict(self).items() if column is not None}


@dataclass(frozen=True)
class EventFiles:
    """Raw events of one topology.

    path: a file, or a folder of files (`date=…` folders are fine), as Spark reads it.
    format: of the files; CSV has a header line.
    source: the one source of all events, where no column tells.
    timezone: of times that carry no offset. Such times in the hour that daylight saving repeats may mean either hour:
    both are partial then. Those in the hour that it skips go to quarantine.
    coverage: CSV or Parquet file (source, alive_from, alive_to) of when the feed was alive.
    max_silence_s: without a coverage file, the feed counts as alive between consecutive events of a source that are at
    most this far apart.
    max_copy_gap_s: a row is a copy where a row with its id came at most this long before it.
    lateness_s: a window is closed this long after its end. With a column `arrived`, rows that came later are late and
    never count. Without it nothing tells: rows count wherever their window is read, and windows that are closed are not
    read again, so that rows which come later count only once their interval is built again by hand.
    max_ahead_s: rows stamped further than this ahead of their arrival (or, without that column, of now) are in the
    future. not_before: rows stamped before it come from a clock that was not set. Without the column such rows are told
    of with the newest window that is over now, and with no other.
    span_s: how long the span is that a row with a weight stands for, from its time on; all of it counts in the window
    in which it starts.
    measures: what the events are of; where that is throughput, nothing tells when the source was held back.
    Raises HistoryError for an unknown format or time zone, and unless the source is told exactly once.
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
            if not 0 <= getattr(self, name) <= _LONGEST_S:
                raise HistoryError(
                    f"{where}: {name} {getattr(self, name)}; give seconds, not negative and at most {_LONGEST_S}"
                )
        if self.not_before.tzinfo is None:
            raise HistoryError(f"{where}: not_before {self.not_before} has no time zone; give it in UTC")
        if self.span_s and self.columns.weight is None:
            raise HistoryError(f"{where}: span_s {self.span_s} without a weight column; name it, or leave span_s out")
