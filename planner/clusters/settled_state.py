"""What a cluster runs once a rescale that is under way is over."""

from datetime import timedelta

from planner.clock import Clock
from planner.clusters.cluster import Cluster, ClusterState, Status


def settled(cluster: Cluster, clock: Clock, timeout_s: float, poll_s: float) -> ClusterState:
    """The state after at most timeout_s, looked at every poll_s; RESCALING where it was not over by then."""
    deadline = clock.now() + timedelta(seconds=timeout_s)
    while (state := cluster.state()).status is Status.RESCALING and clock.now() < deadline:
        clock.wait(poll_s)
    return state
