"""Where raw events lie and what their columns mean. Knows no Spark, so settings can be turned into it anywhere."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from forecasting.errors import HistoryError

Format = Literal["parquet", "csv", "jsonl"]


@dataclass(frozen=True)
class EventColumns:
    """Names of the columns in the raw files.

    time: when the event came. source: which source of the topology it came to. key: what the stream is grouped by.
    id: the event's identity within its source; rows that share it are copies of one event.
    """

    time: str
    source: str | None = None
    key: str | None = None
    id: str | None = None

    def named(self) -> dict[str, str]:
        """Role to column name, for the roles that are given."""
        roles = {"time": self.time, "source": self.source, "key": self.key, "id": self.id}
        return {role: column for role, column in roles.items() if column is not None}


@dataclass(frozen=True)
class EventSource:
    """Raw events of one topology.

    path: a file, or a folder of files (`date=…` folders are fine), as Spark reads it.
    format: of the files; CSV has a header line.
    source: the one source of all events, where no column tells.
    timezone: of times that carry no offset; of an hour that the clocks go through twice, the first is meant.
    coverage: CSV or Parquet file (source, alive_from, alive_to) of when the feed was alive.
    max_silence_s: without a coverage file, the feed counts as alive between consecutive events of a source that are at
    most this far apart.
    max_copy_gap_s: how far apart the times of copies of one event can be; None when unknown, and then all earlier
    events are searched for copies.
    Raises HistoryError for an unknown format or time zone, and unless the source is told exactly once.
    """

    path: Path | str
    columns: EventColumns
    format: Format = "parquet"
    source: str | None = None
    timezone: str = "UTC"
    coverage: Path | None = None
    max_silence_s: float = 3600
    max_copy_gap_s: float | None = None

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
        if self.max_copy_gap_s is not None and not self.max_copy_gap_s >= 0:
            raise HistoryError(f"{where}: max_copy_gap_s {self.max_copy_gap_s}; give seconds, not negative")
