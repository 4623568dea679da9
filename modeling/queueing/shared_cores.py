"""Processor sharing: by what factor threads that share cores take longer than alone.

A thread that has work runs at once if a core is free; else all that have work share the cores evenly, as a fair
scheduler deals time. A thread is active while it runs or waits for a core. A part of a core is a quota, which the
kernel grants in slices: within one, threads run on whole cores; what they wait for the next is left out.
"""

import math

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.compiled import compiled

ROUNDS = 200
"""Maximum rounds of the fixed point; some ten are enough below 90 % of the cores."""
_CLOSE = 1e-9
_NEVER_ALL = 0.999
"""Share of the time above which no thread is active while its cores are not all in use."""


def active_shares(used: Floats, cores: float) -> Floats:
    """Share of the time in which each thread runs or waits for a core, shape (threads,), from 0 to 1.

    used: cores that each thread uses, 0 to 1. Fixed point of active = used · E[max(1, (1 + others active) / cores)],
    others independent of each other. Within 6 % of a simulation up to 70 % of the cores, within 11 % up to 85 %
    (`test_shared_cores`).

    >>> active_shares(np.array([0.5]), 1.0)  # alone on a core
    array([0.5])
    >>> active_shares(np.array([0.05]), 0.1)  # half of a quota
    array([0.05])
    """
    return np.asarray(_active_shares(np.ascontiguousarray(used, dtype=np.float64), _whole(cores)))


def stretches(active: Floats, cores: float) -> Floats:
    """E[max(1, (1 + others active) / cores)] of each thread, shape (threads,)."""
    return np.asarray(_stretches(np.ascontiguousarray(active, dtype=np.float64), _whole(cores)))


def stretches_in_containers(used: Floats, container: Ints, cores: float) -> Floats:
    """By what factor each thread's computing takes longer than alone, shape (plans, threads, scenarios).

    used: cores that each thread uses, same shape. container: of each thread, shape (plans, threads), -1 for none.
    cores: of each container.
    """
    place = np.ascontiguousarray(container, dtype=np.int64)
    return np.asarray(_in_containers(np.ascontiguousarray(used), place, float(cores), _whole(cores)))


def _whole(cores: float) -> float:
    return float(math.ceil(cores))


@compiled
def _in_containers(used: Floats, container: Ints, quota: float, cores: float) -> Floats:
    plans, _, scenarios = used.shape
    found = np.ones(used.shape)
    for plan in range(plans):
        for number in range(container[plan].max() + 1):
            there = np.flatnonzero(container[plan] == number)
            own = np.empty(there.size)
            for at in range(scenarios):
                for n in range(there.size):
                    own[n] = min(1.0, used[plan, there[n], at])
                total = own.sum()
                if total >= quota:
                    active = np.ones(there.size)
                elif there.size <= cores:
                    continue
                else:
                    # Work is conserved: a single core is busy exactly as long as any thread has work.
                    most = total if cores == 1 else _NEVER_ALL
                    active = _active_shares(own, cores)
                    if cores > 1:
                        active = _at_the_same_times(own, active, cores)
                    active = np.minimum(active, np.maximum(most, own))
                for n in range(there.size):
                    if own[n] > 0:
                        found[plan, there[n], at] = active[n] / own[n]
    return found


@compiled
def _at_the_same_times(used: Floats, active: Floats, cores: float) -> Floats:
    """Active shares of threads that wait for cores at the same times, and so for longer than independent ones do.

    The latency lies between that of independent threads and the sum of each thread's own queue and the wait for a core
    of tuples that each had a thread (Erlang's C, processor sharing); halfway in simulations, less with few threads.
    """
    load, blocked = used.sum(), 1.0
    for k in range(1, int(cores) + 1):
        blocked = load * blocked / (k + load * blocked)
    shared = blocked / (1 - load / cores * (1 - blocked)) / (cores - load)
    weight = 0.5 * min(1.0, used.size / cores - 1)
    found = active.copy()
    for n in range(used.size):
        if 0 < used[n] < 1 and active[n] < 1:
            # Latencies in units of the thread's own service.
            apart, most = active[n] / used[n] / (1 - active[n]), 1 / (1 - used[n]) + shared
            work = used[n] * (apart + weight * max(most - apart, 0.0))
            found[n] = work / (1 + work)
    return found


@compiled
def _active_shares(used: Floats, cores: float) -> Floats:
    active = np.minimum(used, 1.0)
    for _ in range(ROUNDS):
        after = np.minimum(1.0, used * _stretches(active, cores))
        change = 0.0
        for at in range(active.size):
            change = max(change, abs(after[at] - active[at]))
        # Half a step: with few cores the plain iteration swings.
        active = (active + after) / 2
        if change < _CLOSE:
            break
    return active


@compiled
def _stretches(active: Floats, cores: float) -> Floats:
    """Over the number of other active threads, which is Poisson binomial: all threads at once, then each taken out."""
    count = active.size
    chance = np.zeros(count + 1)
    chance[0] = 1.0
    for share in active:
        for k in range(count, 0, -1):
            chance[k] = chance[k] * (1 - share) + chance[k - 1] * share
        chance[0] *= 1 - share
    found = np.empty(count)
    for at in range(count):
        share, mean, before = active[at], 0.0, 0.0
        # Divided by the larger of the two factors, so that rounding does not grow.
        if share < 0.5:
            for k in range(count):
                before = (chance[k] - share * before) / (1 - share)
                mean += before * max(1.0, (1 + k) / cores)
        else:
            for k in range(count - 1, -1, -1):
                before = (chance[k + 1] - (1 - share) * before) / share
                mean += before * max(1.0, (1 + k) / cores)
        found[at] = mean
    return found
