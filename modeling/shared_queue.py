"""One queue that several servers share, G/G/c: mean wait and probability of waiting after Whitt (1993).

"Approximations for the GI/G/m queue", Production and Operations Management 2(2), 114-161; equation numbers are his.
Stream processors do not queue so (each instance has a queue of its own); replicas behind one broker queue do.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from modeling.queues import Floats, allen_cunneen_waits_s, checked, erlang_cs


def whitt_waits_s(
    utilisation: npt.ArrayLike,
    service_s: npt.ArrayLike,
    servers: npt.ArrayLike,
    ca2: npt.ArrayLike,
    cs2: npt.ArrayLike,
) -> Floats:
    """Mean G/G/c queueing delay of every station in seconds (2.24); UNSTABLE where utilisation is 1 or more.

    Allen and Cunneen's, times a factor that is 1 for M/M/c and in heavy traffic.
    """
    rho, service, arrivals, services = checked(utilisation, service_s, ca2, cs2)
    c = np.asarray(servers, dtype=float)
    rough = allen_cunneen_waits_s(rho, service, servers, arrivals, services)
    return rough * _factor(np.clip(rho, np.finfo(float).tiny, 1.0), c, arrivals, services)


def shared_delay_probability(
    utilisation: npt.ArrayLike, servers: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike
) -> Floats:
    """Share of the tuples that find every server busy (Whitt's π1, 4.8): Erlang C moved by the variability as in heavy
    traffic.
    """
    rho, _, arrivals, services = checked(utilisation, 0.0, ca2, cs2)
    rho = np.minimum(rho, 1.0)
    c = np.asarray(servers, dtype=float)
    poisson = erlang_cs(servers, rho * c)
    room = (1 - rho) * np.sqrt(c)
    usual = np.maximum(ndtr(-room), np.finfo(float).tiny)
    with np.errstate(divide="ignore", over="ignore"):
        in_all = (1 + services) * room / np.maximum(arrivals + services, np.finfo(float).tiny)
    busy = np.minimum(1.0, ndtr(-in_all) / usual * poisson)
    light = np.minimum(1.0, ndtr(-2 * room / (1 + arrivals)) / usual * poisson)
    return np.asarray(np.minimum(1.0, rho**2 * busy + (1 - rho**2) * light))


def _factor(rho: Floats, c: Floats, ca2: Floats, cs2: Floats) -> Floats:
    """Whitt's φ (2.25)."""
    gamma = np.minimum(0.24, (1 - rho) * (c - 1) * (np.sqrt(4 + 5 * c) - 2) / (16 * c * rho))
    with np.errstate(under="ignore", over="ignore"):
        one, three = 1 + gamma, (1 - 4 * gamma) * np.exp(-2 * (1 - rho) / (3 * rho))
    both = np.minimum(1.0, (one + three) / 2)
    even = np.power(both, 2 * (1 - np.minimum((ca2 + cs2) / 2, 1.0)))
    tiny = np.finfo(float).tiny
    bursty = np.maximum(4 * np.maximum(ca2, cs2) - 3 * cs2, tiny)  # of use where ca2 >= cs2
    steady = np.maximum(2 * (ca2 + cs2), tiny)
    factor: Floats = np.where(
        ca2 >= cs2,
        4 * (ca2 - cs2) / bursty * one + cs2 / bursty * even,
        (cs2 - ca2) / steady * three + (cs2 + 3 * ca2) / steady * even,
    )
    return factor
