"""The state of a cluster after a rescale that is under way."""

from datetime import timedelta

from planner.clock import Clock
from planner.clusters.cluster import Cluster, ClusterState, Status


def settled(cluster: Cluster, clock: Clock, timeout_s: float, poll_s: float) -> ClusterState:
    """The state once settled or after timeout_s, polled every poll_s; RESCALING if it was not over by then."""
    deadline = clock.now() + timedelta(seconds=timeout_s)
    while (state := cluster.state()).status is Status.RESCALING and clock.now() < deadline:
        clock.wait(poll_s)
    return state
