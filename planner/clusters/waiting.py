"""A cluster's backlogs in the form that the guard's looks use."""

from collections.abc import Mapping
from datetime import datetime

from planner.clusters.cluster import SourceBacklog
from planner.guard.look import Waiting


def longest_lag_s(backlogs: Mapping[str, SourceBacklog]) -> float | None:
    """The topology's lag: the longest of its sources', None unless all are known."""
    lags_s = [each.lag_s for each in backlogs.values() if each.lag_s is not None]
    return max(lags_s) if lags_s and len(lags_s) == len(backlogs) else None


def waiting(backlogs: Mapping[str, SourceBacklog], at: datetime) -> Waiting:
    """At the moment `at`. Its lag is the longest known one."""
    return Waiting(
        backlog={name: each.tuples for name, each in backlogs.items() if each.tuples is not None},
        lag_s=max((each.lag_s for each in backlogs.values() if each.lag_s is not None), default=None),
        unmeasured={name: each.unmeasured for name, each in backlogs.items() if each.unmeasured},
        at=at,
    )
