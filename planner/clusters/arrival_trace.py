"""Arrivals that the simulator replays: piecewise constant rates, one per window and source."""

import math
from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from planner.errors import ClusterError

NOTHING_WAITS = 1e-6
"""A backlog below this, in tuples, is rounding error."""


class CountedArrivals(Protocol):
    """Counts of one source on a regular grid of windows; NaN where the window is missing."""

    @property
    def start(self) -> datetime: ...
    @property
    def window_s(self) -> int: ...
    @property
    def counts(self) -> npt.NDArray[np.float64]: ...


class TrueArrivals(Protocol):
    """The true arrivals per source; an arrival history is one."""

    @property
    def topology(self) -> str: ...
    @property
    def series(self) -> Mapping[str, CountedArrivals]: ...


class ArrivalTrace:
    """Arrivals of one source by time in epoch seconds. Missing windows and times outside the trace have none."""

    def __init__(self, counted: CountedArrivals) -> None:
        known = np.isfinite(counted.counts)
        counts = np.where(known, counted.counts, 0.0)
        self._start_s = counted.start.timestamp()
        self._window_s = float(counted.window_s)
        self._known: list[bool] = known.tolist()
        self._rate_per_s: list[float] = (counts / self._window_s).tolist()
        self._before: list[float] = np.concatenate([[0.0], np.cumsum(counts)]).tolist()

    def arrived(self, from_s: float, to_s: float) -> float:
        """Tuples that arrive in [from_s, to_s)."""
        rates_per_s = self._rate_per_s
        return sum(rates_per_s[w] * s for w, s in self._windows(from_s, to_s) if 0 <= w < len(rates_per_s))

    def rate_per_s(self, at_s: float) -> float:
        window = int((at_s - self._start_s) // self._window_s)
        return self._rate_per_s[window] if 0 <= window < len(self._rate_per_s) else 0.0

    def steady_until_s(self, at_s: float) -> float:
        """End of the window that holds a moment; outside the trace, the end of the time without arrivals."""
        window = int((at_s - self._start_s) // self._window_s)
        if window >= len(self._rate_per_s):
            return math.inf
        return self._start_s + (max(-1, window) + 1) * self._window_s

    def known(self, from_s: float, to_s: float) -> bool:
        """Whether the trace has counts for all of [from_s, to_s)."""
        return all(0 <= w < len(self._known) and self._known[w] for w, _ in self._windows(from_s, to_s))

    def age_s(self, at_s: float, backlog: float) -> float:
        """How long the oldest of the last `backlog` tuples has waited at a moment, in seconds; first come, first
        served.
        """
        if backlog <= NOTHING_WAITS:
            return 0.0
        position = min(max(0.0, (at_s - self._start_s) / self._window_s), float(len(self._rate_per_s)))
        window = min(int(position), len(self._rate_per_s) - 1)
        arrived = self._before[window] + self._rate_per_s[window] * (position - window) * self._window_s
        target = max(0.0, arrived - backlog)
        window = min(max(0, bisect_right(self._before, target) - 1), len(self._rate_per_s) - 1)
        within_s = self._window_s
        if self._rate_per_s[window] > 0:
            within_s = min(self._window_s, (target - self._before[window]) / self._rate_per_s[window])
        return max(0.0, at_s - (self._start_s + window * self._window_s + within_s))

    def _windows(self, from_s: float, to_s: float) -> list[tuple[int, float]]:
        """Windows that overlap the span, each with its overlap in seconds."""
        first = int((from_s - self._start_s) // self._window_s)
        if to_s <= self._start_s + (first + 1) * self._window_s:
            return [(first, to_s - from_s)]
        overlaps = []
        while self._start_s + first * self._window_s < to_s:
            begin = self._start_s + first * self._window_s
            overlaps.append((first, min(to_s, begin + self._window_s) - max(from_s, begin)))
            first += 1
        return overlaps


def arrival_traces(truth: TrueArrivals, sources: tuple[str, ...]) -> dict[str, ArrivalTrace]:
    """One trace per source. Raises ClusterError if a source has no arrivals."""
    for source in sources:
        if source not in truth.series:
            raise ClusterError(
                f"simulator of topology {truth.topology!r}: the truth has no arrivals of source {source!r}, only of "
                f"{', '.join(truth.series)}; build its history first"
            )
    return {source: ArrivalTrace(truth.series[source]) for source in sources}
