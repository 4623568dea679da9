"""A window of looks for a diagnosis, and their means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.topology import Topology
from planner.guard.look import Look

COVERED = 2 / 3
"""Share of a window that looks must cover: the first one may have been taken anywhere in its first third."""

MIN_LOOKS = 2
"""Looks needed for a diagnosis: one alone cannot tell a load from a backlog that drains."""

MAX_GROWTH = 4.0
"""Largest factor, minus 1, by which the load that a full job reports is corrected (Dhalion's bound)."""

MAX_BACKPRESSURED = 0.999


@dataclass(frozen=True)
class Window:
    """Looks at one plan, oldest first, at least one."""

    topology: Topology
    looks: tuple[Look, ...]

    @property
    def newest(self) -> Look:
        return self.looks[-1]

    @cached_property
    def span_s(self) -> float:
        """From the beginning of the first look to the end of the last."""
        return (self.newest.at - self.looks[0].at).total_seconds() + self.looks[0].span_s

    @cached_property
    def busy(self) -> Mapping[str, tuple[float, ...]]:
        """Mean busy share of the time, per instance."""
        return {name: self._mean([look.operators[name].busy for look in self.looks]) for name in self._operators}

    @cached_property
    def received_per_s(self) -> Mapping[str, tuple[float, ...]]:
        """Per instance."""
        return {
            name: self._mean([look.operators[name].received_per_s for look in self.looks]) for name in self._operators
        }

    @cached_property
    def backpressured(self) -> Mapping[str, float]:
        """Mean share of the time, over the instances of each operator."""
        shares = {name: [look.operators[name].backpressured for look in self.looks] for name in self._operators}
        return {name: sum(self._mean(of)) / len(of[0]) for name, of in shares.items()}

    @cached_property
    def output_ratios(self) -> Mapping[tuple[str, str], float]:
        """Tuples out per tuple in, by upstream and downstream operator; 0 without input."""
        ratios = dict.fromkeys(self.topology.edges, 0.0)
        for stream in self.topology.streams:
            given = [(look.operators[stream.upstream].given_per_s.get(stream.name, 0.0),) for look in self.looks]
            received = sum(self.received_per_s[stream.upstream])
            if received > 0:
                ratios[stream.upstream, stream.downstream] += self._mean(given)[0] / received
        return ratios

    @cached_property
    def taken_per_s(self) -> Mapping[str, float]:
        """Rate at which each source took in tuples."""
        return {name: sum(self.received_per_s[name]) for name in self.topology.sources}

    @cached_property
    def offered_per_s(self) -> Mapping[str, float]:
        """Arrival rate of each source: the largest that a look reports; else what was taken in plus the growth of the
        backlog from the first look that reports it to the last. If the backlog is unmeasured, an estimate: a source
        that waits for room a share b of its time takes in 1 − b of its arrivals.
        """
        return {name: self._offered_per_s(name) for name in self.topology.sources}

    @cached_property
    def unmeasured(self) -> Mapping[str, str]:
        """For each source whose arrival rate is estimated, why."""
        return {name: self._unmeasured(name) for name in self.topology.sources if not self._is_measured(name)}

    @cached_property
    def backlog(self) -> Mapping[str, float]:
        """From the newest look that reports it; 0 if none does."""
        return {name: ([0.0] + [tuples for _, tuples in self._queue(name)])[-1] for name in self.topology.sources}

    @cached_property
    def queue(self) -> tuple[tuple[datetime, float], ...]:
        """Times and total backlogs, from the looks that report all sources that any look reports."""
        sources = {name for look in self.looks for name in look.waiting.backlog}
        whole = [look for look in self.looks if sources and look.waiting.backlog.keys() == sources]
        return tuple((look.waited_at, sum(look.waiting.backlog.values())) for look in whole)

    @cached_property
    def backlog_growth_per_s(self) -> float | None:
        """Tuples per second over all sources, None if fewer than two looks report it."""
        return _growth_per_s(self.queue)

    @cached_property
    def lag_s(self) -> float | None:
        """Of the newest look; if not reported, the backlog in seconds of arrivals; None if that is unknown too."""
        waiting = self.newest.waiting
        if waiting.lag_s is not None:
            return waiting.lag_s
        known = [
            (waits, waiting.offered_per_s.get(name, self.offered_per_s[name]))
            for name, waits in waiting.backlog.items()
        ]
        return max((waits / rate for waits, rate in known if rate > 0), default=None)

    def covers(self, window_s: float) -> bool:
        return len(self.looks) >= MIN_LOOKS and self.span_s >= COVERED * window_s

    @property
    def _operators(self) -> tuple[str, ...]:
        return self.topology.order

    def _offered_per_s(self, source: str) -> float:
        known = [look.waiting.offered_per_s[source] for look in self.looks if source in look.waiting.offered_per_s]
        if known:
            return max(known)
        growth_per_s = _growth_per_s(self._queue(source))
        if growth_per_s is not None:
            return max(0.0, self.taken_per_s[source] + growth_per_s)
        waits = min(self.backpressured[source], MAX_BACKPRESSURED)
        return self.taken_per_s[source] * (1 + min(waits / (1 - waits), MAX_GROWTH))

    def _is_measured(self, source: str) -> bool:
        reported = any(source in look.waiting.offered_per_s for look in self.looks)
        return reported or _growth_per_s(self._queue(source)) is not None

    def _unmeasured(self, source: str) -> str:
        said = [look.waiting.unmeasured[source] for look in self.looks if source in look.waiting.unmeasured]
        return said[-1] if said else f"fewer than two looks have the backlog of source {source!r}"

    def _queue(self, source: str) -> list[tuple[datetime, float]]:
        """Times and backlogs of a source, from the looks that report it."""
        waits = [(look.waited_at, look.waiting.backlog.get(source)) for look in self.looks]
        return [(at, tuples) for at, tuples in waits if tuples is not None]

    def _mean(self, values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        """Mean of each position over the looks, weighted by their spans."""
        spans_s, all_s = self._spans_s
        return tuple((spans_s @ np.array(values) / all_s).tolist())

    @cached_property
    def _spans_s(self) -> tuple[Floats, float]:
        """Of each look, and their sum."""
        spans_s = np.array([look.span_s for look in self.looks])
        return spans_s, float(spans_s.sum())


def _growth_per_s(queue: Sequence[tuple[datetime, float]]) -> float | None:
    """Tuples per second from the first moment to the last; None without two moments."""
    if not queue:
        return None
    (first_at, first), (last_at, last) = queue[0], queue[-1]
    apart_s = (last_at - first_at).total_seconds()
    return (last - first) / apart_s if apart_s > 0 else None


def window_of(
    topology: Topology,
    looks: Sequence[Look],
    parallelism: Mapping[str, int],
    since: datetime,
    now: datetime,
    last_s: float,
) -> Window | None:
    """Looks of the last last_s seconds at this plan, taken wholly since a moment; None without any. A look that fills
    last_s alone is joined by the one before it, unless more than last_s lie between the two.
    """
    begin = now - timedelta(seconds=last_s)
    of_plan = [
        look
        for look in sorted(looks, key=lambda look: look.at)
        if look.at <= now
        and look.at - timedelta(seconds=look.span_s) >= since
        and look.parallelism == dict(parallelism)
    ]
    fitting = [look for look in of_plan if begin < look.at]
    if len(fitting) == 1 and len(of_plan) > 1:
        begin -= timedelta(seconds=fitting[0].span_s)
        fitting = [look for look in of_plan[-MIN_LOOKS:] if begin < look.at]
    return Window(topology, tuple(fitting)) if fitting else None
