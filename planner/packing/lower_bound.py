"""A lower bound on the number of containers, to measure packers against."""

import numpy as np

from planner.packing.offer import Offer
from planner.packing.workload import Workload


def least_containers(offer: Offer, work: Workload) -> int:
    """The volume bound: for each resource, the need of all instances over the room of one container on the fastest
    offered node, rounded up. At least 1.
    """
    volume = work.sizes.sum(axis=0) * (offer.least_factor, 1.0, 1.0) / offer.room
    counts = [int(np.ceil(part - 1e-6)) for part in volume]
    if offer.max_instances is not None:
        counts.append(-(-len(work.instances) // offer.max_instances))
    return max(1, *counts)
