"""What a cluster tells of tuples that wait at its sources, as a look of the guard holds it."""

from collections.abc import Mapping
from datetime import datetime

from planner.clusters.cluster import SourceBacklog
from planner.guard.look import Waiting


def longest_lag_s(backlogs: Mapping[str, SourceBacklog]) -> float | None:
    """The topology's lag is that of the source with the longest, known where those of all are."""
    lags_s = [each.lag_s for each in backlogs.values() if each.lag_s is not None]
    return max(lags_s) if lags_s and len(lags_s) == len(backlogs) else None


def waiting(backlogs: Mapping[str, SourceBacklog], at: datetime) -> Waiting:
    """As of a moment. The lag is the longest of those that are known."""
    return Waiting(
        backlog={name: each.tuples for name, each in backlogs.items() if each.tuples is not None},
        lag_s=max((each.lag_s for each in backlogs.values() if each.lag_s is not None), default=None),
        unmeasured={name: each.unmeasured for name, each in backlogs.items() if each.unmeasured},
        at=at,
    )
