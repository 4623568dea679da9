"""Measures a deployment from when its plan runs until its backlog is gone: how long that takes, and how fast the job is
meanwhile.
"""

from collections.abc import Mapping
from datetime import datetime

from planner.clusters.cluster import Backlogs, Cluster, SourceBacklog, Taken
from planner.errors import ClusterError
from planner.learned_warm_up import SpeedSample

WAITING_S = 1.0
"""A lag up to this, in seconds, is no backlog: sources poll and commit about that often."""


MIN_SPAN_S = 5.0
"""Shortest span of a speed: counters are collected every few seconds."""


class CatchUpWatch:
    """Watches the backlog of a plan from when it began to run. Times are the cluster's own."""

    def __init__(self, cluster: Cluster, backlogs: Backlogs, capacity_per_s: float | None = None) -> None:
        """capacity_per_s: predicted for the plan, over all sources; None: no speeds are measured."""
        self._cluster, self._backlogs, self._capacity_per_s = cluster, backlogs, capacity_per_s
        self._since: datetime | None = None
        self._caught_up_s: float | None = None
        self._behind_s: float | None = None
        self._reported = True
        self._taken: list[Taken] = []
        self._speeds: list[SpeedSample] = []

    def look(self, running_since: datetime) -> None:
        """Look once more, unless it has caught up. Starts over if the plan runs since another moment than at the last
        look. A cluster that does not answer counts as no measurement.
        """
        if running_since != self._since:
            self._since, self._caught_up_s, self._behind_s = running_since, None, None
            self._taken, self._speeds = [], []
        if self.caught_up:
            return
        try:
            waits = self._backlogs()
            state = self._cluster.state()  # read afterwards, as reading backlogs may take some seconds
        except ClusterError:
            self._reported = False
            return
        self._reported = state.running_since == running_since and _is_known(waits)
        if not self._reported:
            return
        after_s = max(0.0, (state.observed_at - running_since).total_seconds())
        if all(_drained(each) for each in waits.values()):
            self._caught_up_s = after_s
        else:
            self._behind_s = after_s
            self._measure_speed(waits)

    def _measure_speed(self, waits: Mapping[str, SourceBacklog]) -> None:
        """A job is as fast as it can only while something waits, at both ends of a span and at every source."""
        now = [each.taken for each in waits.values() if each.tuples and each.taken is not None]
        before, whole = self._taken, len(now) == len(waits)
        if self._capacity_per_s is None or not whole or not before:
            self._taken = now if whole else []
            return
        spans_s = [new.age_s - old.age_s for old, new in zip(before, now, strict=True)]
        counts = [new.tuples - old.tuples for old, new in zip(before, now, strict=True)]
        if min(spans_s) < MIN_SPAN_S:
            return
        self._taken = now
        if min(counts) >= 0:
            from_s, until_s = (sum(each.age_s for each in end) / len(end) for end in (before, now))
            taken_per_s = sum(count / span_s for count, span_s in zip(counts, spans_s, strict=True))
            self._speeds.append(SpeedSample(from_s, until_s, taken_per_s, self._capacity_per_s))

    @property
    def caught_up(self) -> bool:
        return self._caught_up_s is not None

    @property
    def hopeless(self) -> bool:
        """Whether the last look showed nothing: the cluster reports no backlog, or another job runs by now."""
        return not self._reported

    @property
    def speeds(self) -> tuple[SpeedSample, ...]:
        """Of the spans in which the job was as fast as it can, in order."""
        return tuple(self._speeds)

    def measured(self) -> dict[str, float]:
        """`catch_up_s` once it has caught up; `catch_up_at_least_s` if the last valid look still saw a backlog; else
        empty.
        """
        if self._caught_up_s is not None:
            return {"catch_up_s": self._caught_up_s}
        return {} if self._behind_s is None else {"catch_up_at_least_s": self._behind_s}


def _is_known(waits: Mapping[str, SourceBacklog]) -> bool:
    return all(each.tuples is not None or each.lag_s is not None for each in waits.values())


def _drained(waits: SourceBacklog) -> bool:
    return waits.tuples == 0 or (waits.lag_s is not None and waits.lag_s <= WAITING_S)
