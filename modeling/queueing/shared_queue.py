"""One queue that several servers share, G/G/c: mean wait and probability of waiting.

Stream processors do not queue so (each instance has a queue of its own); replicas behind one broker queue do. GI/M/c is
solved (Takács 1962; Gross and Harris, Fundamentals of Queueing Theory, 5.3.2) for the two-moment distribution of the
gaps; from exponential to other services it is led by how much these change one server's wait (Kraemer and
Langenbach-Belz 1976), and by how much less they change that of several under Poisson arrivals (Kimura 1986).
"""

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from modeling.queueing.queues import UNSTABLE, Floats, checked, erlang_cs, klb_exponent, klb_waits_s
from modeling.queueing.two_moments import transform

_HALVINGS = 60
_NEAR = 1e-6
"""So near to a root of 0/0, the formula of GI/M/c is asked at a utilisation that much beside."""


def shared_waits_s(
    utilisation: npt.ArrayLike,
    service_s: npt.ArrayLike,
    servers: npt.ArrayLike,
    ca2: npt.ArrayLike,
    cs2: npt.ArrayLike,
) -> Floats:
    """Mean G/G/c queueing delay of every station in seconds; UNSTABLE where utilisation is 1 or more.

    utilisation: per server. Exact for M/M/c, for GI/M/c with gaps of the two-moment distribution, and for M/G/1.
    """
    rho, service, arrivals, services = checked(utilisation, service_s, ca2, cs2)
    c = np.asarray(servers, dtype=float)
    stable = np.minimum(rho, 1.0)
    _, exponential = _exponential_services(stable, servers, arrivals)
    kingman = (arrivals + services) / (arrivals + 1)
    lower = klb_exponent(stable, arrivals, services) - klb_exponent(stable, arrivals, np.ones_like(services))
    with np.errstate(under="ignore"):
        alone = kingman * np.exp(np.minimum(lower, 50.0))
        waits_s = service * exponential * alone * _less_among_several(stable, c, services)
    # Where hardly anything waits, a ratio of two small numbers may mislead; one server of that load waits longer.
    return np.where(rho < 1, np.minimum(waits_s, klb_waits_s(rho, service, arrivals, services)), UNSTABLE)


def shared_delay_probability(
    utilisation: npt.ArrayLike, servers: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike
) -> Floats:
    """Share of the tuples that find every server busy: of GI/M/c, moved by the services as in heavy traffic with many
    servers (Whitt 1993, "Approximations for the GI/G/m queue", 4.8).
    """
    rho, _, arrivals, services = checked(utilisation, 0.0, ca2, cs2)
    stable = np.minimum(rho, 1.0)
    exponential, _ = _exponential_services(stable, servers, arrivals)
    room = (1 - stable) * np.sqrt(np.asarray(servers, dtype=float))
    usual = log_ndtr(-2 * room / (1 + arrivals))
    log = log_ndtr(-(1 + services) * room / np.maximum(arrivals + services, 1e-100)) - usual
    with np.errstate(under="ignore"):
        moved = np.exp(np.minimum(log, np.log(4.0)))  # far below saturation the ratio says nothing
    return np.where(rho < 1, np.clip(exponential * (stable**2 * moved + 1 - stable**2), 0.0, 1.0), 1.0)


def _exponential_services(utilisation: Floats, servers: npt.ArrayLike, ca2: Floats) -> tuple[Floats, Floats]:
    """GI/M/c with services of 1: probability of waiting, and mean wait."""
    rho, c, arrivals = np.broadcast_arrays(np.clip(utilisation, 1e-9, 1 - 1e-9), np.asarray(servers, dtype=float), ca2)
    waiting, root = _takacs(rho, c, arrivals)
    waiting = np.where(arrivals == 1, erlang_cs(c.astype(np.int64), rho * c), waiting)
    root = np.where(arrivals == 1, rho, root)
    return waiting, waiting / (c * (1 - root))


def _takacs(utilisation: Floats, c: Floats, ca2: Floats) -> tuple[Floats, Floats]:
    """Probability of waiting, and the root σ: the wait of those that wait is exponential with rate c(1 − σ)."""
    rho = utilisation
    for _ in range(3):
        root = _root(rho, c, ca2)
        beside = c * (1 - root)
        rho = np.where(np.abs(beside - np.round(beside)) < _NEAR, rho * (1 - 10 * _NEAR), rho)
    gap = 1 / (rho * c)
    term, total = np.ones_like(rho), 1 / (1 - root)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for j in range(1, int(c.max(initial=1)) + 1):
            # Arrivals that find j busy; the transform is convex, so numerator and denominator change sign together.
            gone = transform(float(j), gap, ca2)
            term = term * (c - j + 1) / j * (1 - gone) / gone
            total = total + np.where(j <= c, term / (1 - gone) * (c * (1 - gone) - j) / (c * (1 - root) - j), 0.0)
        waiting = 1 / (total * (1 - root))
    return np.where(np.isfinite(waiting), np.clip(waiting, 0.0, 1.0), 0.0), root


def _root(rho: Floats, c: Floats, ca2: Floats) -> Floats:
    """σ = A*(c(1 − σ)) in (0, 1), by halving: below it the right side is larger."""
    gap = 1 / (rho * c)
    low, high = np.zeros_like(rho), np.full_like(rho, 1 - 1e-12)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = transform(c * (1 - middle), gap, ca2) > middle
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _less_among_several(rho: Floats, c: Floats, cs2: Floats) -> Floats:
    """M/G/c over what one server's Pollaczek-Khinchine factor makes of M/M/c (Kimura 1986), with M/D/c after
    Cosmetatos (1975).
    """
    more = (1 - rho) * (c - 1) * (np.sqrt(4 + 5 * c) - 2) / (16 * c * np.maximum(rho, np.finfo(float).tiny))
    constant = (1 + np.minimum(0.24, more)) / 2
    return np.asarray(2 * constant / (2 * cs2 * constant + 1 - cs2))
