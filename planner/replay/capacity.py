"""The capacity of a network for many mixes of its sources at once."""

import numpy as np

from modeling.arrays import Floats
from planner.clusters.fluid_queues import FluidNetwork


def capacity_per_s(network: FluidNetwork, rates_per_s: Floats) -> Floats:
    """Over all sources, shape (moments,), in the mixes given by rates of shape (moments, sources).

    Without arrivals, the mix is that of the last moment with arrivals, or equal shares before the first.
    """
    total = rates_per_s.sum(axis=1)
    some = total > 0
    last = np.maximum.accumulate(np.where(some, np.arange(total.size), -1))
    even = np.full(rates_per_s.shape[1], 1.0 / rates_per_s.shape[1])
    mixes = np.where((last >= 0)[:, None], rates_per_s[last] / np.where(some, total, 1.0)[last][:, None], even)
    if rates_per_s.shape[1] == 1:
        mixes, of = mixes[:1], np.zeros(total.size, dtype=np.int64)
    else:
        mixes, of = np.unique(mixes.round(4), axis=0, return_inverse=True)
    linear = network.linear
    if linear.windows:
        part, _ = linear.first_crossing(np.zeros_like(mixes), mixes)
    else:
        part = 1.0 / (mixes @ linear.rows[0].T).max(axis=1)
    return np.asarray(part[of.reshape(-1)], dtype=np.float64)
