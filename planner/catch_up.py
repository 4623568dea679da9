"""Measures the catch-up of a deployment: the time from when the plan runs until its backlog is gone."""

from collections.abc import Mapping
from datetime import datetime

from planner.clusters.cluster import Backlogs, Cluster, SourceBacklog
from planner.errors import ClusterError

WAITING_S = 1.0
"""A lag up to this, in seconds, is no backlog: sources poll and commit about that often."""


class CatchUpWatch:
    """Watches the backlog of a plan from when it began to run. Times are the cluster's own."""

    def __init__(self, cluster: Cluster, backlogs: Backlogs) -> None:
        self._cluster, self._backlogs = cluster, backlogs
        self._since: datetime | None = None
        self._caught_up_s: float | None = None
        self._behind_s: float | None = None
        self._reported = True

    def look(self, running_since: datetime) -> None:
        """Look once more, unless it has caught up. Starts over if the plan runs since another moment than at the last
        look. A cluster that does not answer counts as no measurement.
        """
        if running_since != self._since:
            self._since, self._caught_up_s, self._behind_s = running_since, None, None
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

    @property
    def caught_up(self) -> bool:
        return self._caught_up_s is not None

    @property
    def hopeless(self) -> bool:
        """Whether the last look showed nothing: the cluster reports no backlog, or another job runs by now."""
        return not self._reported

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
