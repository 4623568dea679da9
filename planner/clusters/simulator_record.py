"""Converts the simulator's minutes to a cluster record."""

from collections.abc import Sequence

import numpy as np

from planner.clusters.cluster_record import ClusterRecord
from planner.clusters.simulator_course import MINUTE_S
from planner.clusters.simulator_state import Minute


def record_of(minutes: Sequence[Minute], sources: Sequence[str], operators: Sequence[str]) -> ClusterRecord:
    return ClusterRecord(
        minute=np.array([int(m.start_s) for m in minutes], dtype="datetime64[s]"),
        offered={name: np.array([m.offered[name] for m in minutes]) for name in sources},
        processed={name: np.array([m.processed[name] for m in minutes]) for name in sources},
        backlog={name: np.array([m.backlog[name] for m in minutes]) for name in sources},
        lag_s=np.array([m.lag_s for m in minutes]),
        parallelism={name: np.array([m.parallelism[name] for m in minutes], dtype=np.int64) for name in operators},
        utilisation={name: np.array([m.busiest_s[name] for m in minutes]) / MINUTE_S for name in operators},
        down_s=np.array([m.down_s for m in minutes]),
        known=np.array([m.known for m in minutes], dtype=np.bool_),
    )
