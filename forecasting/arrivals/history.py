"""The arrival history as a value: regular windows of counts per source, each with a status.

Independent of Spark: forecasters, reports and the command line read histories through it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from forecasting.arrays import Floats
from forecasting.errors import HistoryError

OBSERVED, PARTIAL, THROTTLED, MISSING = "observed", "partial", "throttled", "missing"
STATUSES = (OBSERVED, PARTIAL, THROTTLED, MISSING)
"""Statuses of a window, by when its feed was alive: wholly; in part; wholly, but the source was held back, so the count
is throughput, a lower bound of the offered load; not at all."""
COLUMNS = ("topology", "source", "window_start", "window_s", "count", "status")
"""The public Parquet columns: text, text, timestamp (UTC), int32, int64 (null when missing), text."""
UTC_NAME = "UTC"


@dataclass(frozen=True, eq=False)
class ArrivalSeries:
    """Counts of one source on a regular grid of windows, oldest first. Equal if forecasters see no difference.

    start: start of the first window (UTC); window_s: width of a window in seconds.
    counts: shape (windows,); NaN, never zero, for missing, partial and throttled windows.
    timezone: IANA name of the clock for its days and weeks; the grid is always in UTC.
    Raises HistoryError for an empty series, a negative count or a start without a time zone.
    """

    topology: str
    source: str
    start: datetime
    window_s: int
    counts: Floats
    timezone: str = UTC_NAME

    def __post_init__(self) -> None:
        where = f"arrival history of source {self.source!r} of topology {self.topology!r}"
        if self.start.tzinfo is None:
            raise HistoryError(f"{where}: start {self.start} has no time zone; give it in UTC")
        # Convert to UTC: added to a local time, a span is off by an hour across a clock change.
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        if self.window_s <= 0:
            raise HistoryError(f"{where}: window of {self.window_s} s; give a positive number of seconds")
        if self.counts.ndim != 1 or self.counts.size == 0:
            raise HistoryError(f"{where} is empty; aggregate some events first")
        if np.isinf(self.counts).any() or (self.counts < 0).any():
            at = int(np.flatnonzero(np.isinf(self.counts) | (self.counts < 0))[0])
            raise HistoryError(
                f"{where}: count {self.counts[at]:g} in the window at {self.window_starts()[at]}; "
                "counts are finite and not negative, a missing window is NaN"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrivalSeries) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    @property
    def end(self) -> datetime:
        """End of the last window (exclusive)."""
        return self.start + timedelta(seconds=self.window_s * self.counts.size)

    @property
    def span_s(self) -> float:
        return float(self.window_s * self.counts.size)

    def window_starts(self) -> npt.NDArray[np.datetime64]:
        """Starts of the windows, datetime64[s] in UTC, shape (windows,)."""
        first = np.datetime64(self.start.astimezone(UTC).replace(tzinfo=None), "s")
        return first + np.arange(self.counts.size) * np.timedelta64(self.window_s, "s")

    def rate_per_s(self) -> Floats:
        """Arrival rate per window in events per second, NaN where missing."""
        return self.counts / self.window_s

    def between(self, start: datetime, end: datetime) -> "ArrivalSeries":
        """The windows that lie wholly in [start, end)."""
        first = max(0, -int((self.start - start).total_seconds() // self.window_s))
        last = min(self.counts.size, int((end - self.start).total_seconds() // self.window_s))
        if last <= first:
            raise HistoryError(
                f"arrival history of source {self.source!r} has no window between {start} and {end}; "
                f"it covers {self.start} to {self.end}"
            )
        start = self.start + timedelta(seconds=first * self.window_s)
        return replace(self, start=start, counts=self.counts[first:last])

    def resampled(self, step_s: int) -> "ArrivalSeries":
        """The same history in steps of step_s, aligned to the epoch; a step with a missing window is missing.

        step_s must be a multiple of window_s. Steps at the edges that are not wholly covered are dropped.
        """
        if step_s % self.window_s:
            raise HistoryError(
                f"step of {step_s} s is not a multiple of the history's window of {self.window_s} s; give one that is, "
                f"such as forecast.step_s: {-(-step_s // self.window_s) * self.window_s}"
            )
        per_step = step_s // self.window_s
        offset_s = -int(self.start.timestamp()) % step_s
        if offset_s % self.window_s:
            raise HistoryError(f"windows starting at {self.start} are not aligned to multiples of {self.window_s} s")
        body = self.counts[offset_s // self.window_s :]
        steps = body.size // per_step
        if steps == 0:
            raise HistoryError(f"{body.size} windows of {self.window_s} s do not fill one step of {step_s} s")
        summed = body[: steps * per_step].reshape(steps, per_step).sum(axis=1)
        return replace(self, start=self.start + timedelta(seconds=offset_s), window_s=step_s, counts=summed)

    def digest(self) -> str:
        """SHA-256 over what a forecast depends on: names, grid, counts and time zone."""
        head = f"{self.topology}|{self.source}|{int(self.start.timestamp())}|{self.window_s}|"
        # UTC is left out, so that series from before time zones existed keep their digest.
        head += "" if self.timezone == UTC_NAME else f"{self.timezone}|"
        return hashlib.sha256(head.encode() + np.ascontiguousarray(self.counts, dtype="<f8").tobytes()).hexdigest()


@dataclass(frozen=True)
class ArrivalHistory:
    """The arrival series of all sources of one topology.

    snapshot: the store's commit that it was read from; empty if none.
    """

    topology: str
    series: Mapping[str, ArrivalSeries]
    snapshot: str = ""

    def __post_init__(self) -> None:
        if not self.series:
            raise HistoryError(f"topology {self.topology!r} has no arrival history; run `forescale history build`")

    def source(self, name: str) -> ArrivalSeries:
        if name not in self.series:
            raise HistoryError(
                f"arrival history of topology {self.topology!r} has no source {name!r}; it has {', '.join(self.series)}"
            )
        return self.series[name]

    def in_local_time(self, timezones: Mapping[str, str]) -> "ArrivalHistory":
        """The same, with days and weeks by local clocks. timezones: by source; other sources keep theirs."""
        local = {
            name: replace(self.series[name], timezone=timezones[name]) for name in timezones if name in self.series
        }
        return replace(self, series={**self.series, **local})

    def digest(self) -> str:
        joined = "".join(self.series[source].digest() for source in sorted(self.series))
        return hashlib.sha256(joined.encode()).hexdigest()
