"""How many containers no packing can do without: what packers are measured against."""

import numpy as np

from planner.packing.offer import Offer
from planner.packing.workload import Workload


def least_containers(offer: Offer, work: Workload) -> int:
    """The volume bound: of each resource what all instances need over what one container has for them, rounded up; on
    the fastest of the offered nodes. At least 1.
    """
    volume = work.sizes.sum(axis=0) * (offer.least_factor, 1.0, 1.0) / offer.room
    counts = [int(np.ceil(part - 1e-6)) for part in volume]
    if offer.max_instances is not None:
        counts.append(-(-len(work.instances) // offer.max_instances))
    return max(1, *counts)
