"""The role of a source of arrivals, and the value it returns: counts, when the feed was alive, and data quality."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Protocol

import numpy as np

from forecasting.arrays import Ints
from forecasting.arrivals.grid import DAY_S, EPOCH, SECOND_US, to_us
from forecasting.errors import HistoryError


class Measures(StrEnum):
    """What a source's counts mean.

    OFFERED: what came, whether or not it was processed. THROUGHPUT: what was processed, which is the offered load only
    while nothing held it back.
    """

    OFFERED = "offered"
    THROUGHPUT = "throughput"


TALLIES = ("rows_read", "duplicates", "late", "future", "unset_clock", "skipped_hour", "damaged")
"""Rows of a window by outcome, besides those that count.

rows_read: rows (events, messages, readings) read for the window, including all below.
duplicates: copies of an event already counted. late: arrived after their window was closed.
In quarantine, by reason: future: stamped later than their arrival (or than now); unset_clock: stamped before any
possible event; skipped_hour: stamped with a wall-clock time that daylight saving skips; damaged: torn, without a
readable time, source or weight, or a reading that is no count.
"""
QUARANTINED = ("future", "unset_clock", "skipped_hour", "damaged")

MAX_DAMAGED = 0.01
"""Share of damaged rows of one read up to which they are set aside; above it, the source is refused."""


@dataclass(frozen=True)
class SeriesCopies:
    """Series of a source that rise alike, and whose labels differ only in `label`. values: of that label, of one group
    of such series. groups: number of such groups.
    """

    source: str
    label: str
    values: tuple[str, ...]
    groups: int


@dataclass(frozen=True)
class SourceArrivals:
    """The arrivals at one source of a topology in consecutive windows.

    counts: events per window, shape (windows,), zero if none are known.
    alive: spans in which the feed is known to have been alive, shape (spans, 2), from and to in microseconds since the
    epoch, sorted and disjoint; they may reach beyond the interval. Outside of them windows are missing, not zero.
    held_back: spans of the same form in which something limited the throughput, so more may have been offered. A source
    that measures throughput and cannot detect this gives the whole interval.
    tallies: by name in TALLIES, shape (windows,) each; omitted ones are zero. copies: series that are counted twice, as
    it seems.
    Raises HistoryError for mismatched shapes, negative counts and unknown tallies.
    """

    counts: Ints
    alive: Ints
    held_back: Ints = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    tallies: Mapping[str, Ints] = field(default_factory=dict)
    copies: tuple[SeriesCopies, ...] = ()

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.tallies) - set(TALLIES)):
            raise HistoryError(f"tally {unknown[0]!r} is unknown; known are {', '.join(TALLIES)}")
        for name, values in {"counts": self.counts, **self.tallies}.items():
            if values.shape != self.counts.shape or values.ndim != 1:
                raise HistoryError(f"{name} have shape {values.shape}, counts {self.counts.shape}; give one per window")
            if (values < 0).any():
                raise HistoryError(f"{name} hold {values.min()}; a number of events is not negative")
        for name, spans in {"alive": self.alive, "held_back": self.held_back}.items():
            if spans.ndim != 2 or spans.shape[1] != 2:
                raise HistoryError(f"{name} has shape {spans.shape}; give spans of shape (spans, 2)")
            if (np.diff(spans.reshape(-1)) < 0).any():
                raise HistoryError(f"spans of {name} overlap or are out of order; merge them")

    def between(self, first: int, last: int) -> "SourceArrivals":
        """The windows from number first up to number last (exclusive)."""
        tallies = {name: numbers[first:last] for name, numbers in self.tallies.items()}
        return replace(self, counts=self.counts[first:last], tallies=tallies)


@dataclass(frozen=True)
class DailyKeyCounts:
    """Key frequencies of one source and UTC day.

    heavy: events of the most frequent keys, most frequent first. residual: events of all other keys, or without a key.
    A heavy key may lack at most max_error events, which the residual then contains; zero if counts are exact.
    distinct_keys: number of keys with events; None if there were too many to count.
    """

    source: str
    day: date
    heavy: Mapping[str, int]
    residual: int
    max_error: int = 0
    distinct_keys: int | None = None


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of [start, end), which lies on the grid of windows of window_s seconds."""

    start: datetime
    end: datetime
    window_s: int
    measures: Measures
    sources: Mapping[str, SourceArrivals]
    keys: tuple[DailyKeyCounts, ...] = ()

    def __post_init__(self) -> None:
        for name, arrivals in self.sources.items():
            if arrivals.counts.size != self.windows:
                raise HistoryError(
                    f"source {name!r} has {arrivals.counts.size} windows, the interval {self.start} to {self.end} "
                    f"{self.windows} of {self.window_s} s; give one count per window"
                )

    @property
    def windows(self) -> int:
        return (to_us(self.end) - to_us(self.start)) // (self.window_s * SECOND_US)

    def edges_us(self) -> Ints:
        """Edges of the windows in microseconds since the epoch, shape (windows + 1,)."""
        return to_us(self.start) + np.arange(self.windows + 1, dtype=np.int64) * (self.window_s * SECOND_US)

    def by_day(self) -> Iterator["Arrivals"]:
        """Split by UTC day; a window belongs to the day on which it starts."""
        days = self.edges_us()[:-1] // (DAY_S * SECOND_US)
        for day in np.unique(days):
            first, last = np.searchsorted(days, [day, day + 1])
            yield Arrivals(
                self.start + timedelta(seconds=int(first) * self.window_s),
                self.start + timedelta(seconds=int(last) * self.window_s),
                self.window_s,
                self.measures,
                {name: arrivals.between(first, last) for name, arrivals in self.sources.items()},
                tuple(keys for keys in self.keys if (keys.day - EPOCH.date()).days == day),
            )


class ArrivalSource(Protocol):
    """Reads the arrivals of one topology. The same interval gives the same answer while the source keeps it."""

    @property
    def place(self) -> str:
        """Where it reads from, for errors and logs, without secrets."""
        ...

    @property
    def measures(self) -> Measures: ...

    @property
    def forgets(self) -> bool:
        """Whether the source loses past data over time; the history then keeps what it knew."""
        ...

    @property
    def unsettled_s(self) -> float:
        """How long after its end a window may still change because of later data."""
        ...

    def first_moment(self) -> datetime:
        """The earliest time with data, UTC. Raises HistoryError if the source is empty or does not answer."""
        ...

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        """The arrivals in [start, end), which must lie on the grid of windows.

        Time that it no longer holds is not alive, hence missing. Raises HistoryError naming place, value and remedy if
        the arrivals cannot be determined.
        """
        ...
