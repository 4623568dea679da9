"""Processor sharing: by what factor threads that share cores take longer than alone.

A thread that has work runs at once if a core is free; else all that have work share the cores evenly, as a fair
scheduler deals time. A thread is active while it runs or waits for a core.
"""

import numpy as np

from modeling.arrays import Floats

ROUNDS = 200
"""Maximum rounds of the fixed point; some ten are enough below 90 % of the cores."""
_CLOSE = 1e-9


def active_shares(used: Floats, cores: float) -> Floats:
    """Share of the time in which each thread runs or waits for a core, shape (threads,), from 0 to 1.

    used: cores that each thread uses, 0 to 1. Fixed point of active = used · E[max(1, (1 + others active) / cores)],
    others independent of each other; within some per cent of a simulation up to 70 % of the cores.

    >>> active_shares(np.array([0.5]), 1.0)  # alone on a core
    array([0.5])
    >>> active_shares(np.array([0.05]), 0.1)  # alone on a tenth of a core
    array([0.5])
    """
    active = np.minimum(used, 1.0)
    for _ in range(ROUNDS):
        after = np.minimum(1.0, used * stretches(active, cores))
        change = float(np.abs(after - active).max(initial=0.0))
        # Half a step: with few cores the plain iteration swings.
        active = (active + after) / 2
        if change < _CLOSE:
            break
    return active


def stretches(active: Floats, cores: float) -> Floats:
    """E[max(1, (1 + others active) / cores)] of each thread, shape (threads,)."""
    others = np.array([_mean_stretch(np.delete(active, at), cores) for at in range(active.size)])
    return others.reshape(active.shape)


def _mean_stretch(active: Floats, cores: float) -> float:
    """Over the number of active threads, which is Poisson binomial."""
    chance = np.ones(1)
    for share in active:
        chance = np.convolve(chance, (1 - share, share))
    return float(chance @ np.maximum(1.0, (1 + np.arange(chance.size)) / cores))
