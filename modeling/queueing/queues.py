"""Mean queueing delay: closed forms of one station, for single values and for arrays.

The plural forms take anything that broadcasts and answer UNSTABLE where utilisation is 1 or more; the singular ones
take one station and refuse it. ca2, cs2 everywhere: squared coefficients of variation of inter-arrival and service
times.
"""

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError

Floats = npt.NDArray[np.float64]

UNSTABLE = float("inf")
"""The wait of a station whose utilisation is 1 or more: its queue grows without end."""

_ALMOST_0 = 1e-200
"""Keeps exponents finite where nothing varies or nothing comes."""

MERGED = 1.0
"""How soon independent streams together look Poisson to a queue below saturation. Albin's 4 is for Kingman's wait;
beside Kraemer and Langenbach-Belz's, which itself lowers what is not Poisson, it is too large: simulated superpositions
of 2 to 8 streams are met best with about 1 (benchmarks/queueing.py, docs/modeling.md)."""


def kingman_wait_s(utilisation: float, service_s: float, ca2: float, cs2: float) -> float:
    """Mean G/G/1 queueing delay in seconds (Kingman 1961), a heavy-traffic approximation; exact for M/G/1.

    Raises ModelError unless 0 <= utilisation < 1: at 1 and above the queue has no mean, it is unstable.

    >>> kingman_wait_s(0.5, 1.0, 1.0, 1.0)  # M/M/1: rho / (1 - rho) * s
    1.0
    """
    _check_stable(utilisation)
    return float(kingman_waits_s(utilisation, service_s, ca2, cs2))


def klb_wait_s(utilisation: float, service_s: float, ca2: float, cs2: float) -> float:
    """Mean G/G/1 queueing delay in seconds by Kraemer and Langenbach-Belz; see klb_waits_s.

    Raises ModelError unless 0 <= utilisation < 1.

    >>> klb_wait_s(0.5, 1.0, 1.0, 1.0)  # as Kingman's where arrivals are Poisson
    1.0
    """
    _check_stable(utilisation)
    return float(klb_waits_s(utilisation, service_s, ca2, cs2))


def allen_cunneen_wait_s(utilisation: float, service_s: float, servers: int, ca2: float, cs2: float) -> float:
    """Mean G/G/c queueing delay in seconds (Allen 1990): Erlang's M/M/c delay scaled by the variability.

    utilisation: per server, λ·s/c. Exact for M/M/c; within about 10 % for moderate variability.
    Raises ModelError unless 0 <= utilisation < 1 and servers >= 1.
    """
    _check_stable(utilisation)
    return float(allen_cunneen_waits_s(utilisation, service_s, servers, ca2, cs2))


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival to M/M/c has to wait (Erlang 1917). offered: λ·s in erlangs, below servers.

    >>> round(erlang_c(2, 1.0), 6)  # by hand: (1/2·2) / (1 + 1 + 1/2·2) = 1/3
    0.333333
    """
    if not 0 <= offered < servers:
        raise ModelError(f"offered load {offered:.3g} >= {servers} servers is unstable; add servers")
    return float(erlang_cs(servers, offered))


def kingman_waits_s(
    utilisation: npt.ArrayLike, service_s: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike
) -> Floats:
    """kingman_wait_s of every station."""
    rho, service, arrivals, services = checked(utilisation, service_s, ca2, cs2)
    return _unstable_at_1(rho, np.minimum(rho, 1.0) / _idle(rho) * service * (arrivals + services) / 2)


def klb_waits_s(utilisation: npt.ArrayLike, service_s: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """Mean G/G/1 queueing delay of every station in seconds (Kraemer and Langenbach-Belz 1976).

    Kingman's, times what arrivals that are no Poisson process change below saturation: both evener and burstier ones
    wait less than Kingman says. Exact for M/G/1, equal to Kingman in heavy traffic.
    """
    rho, service, arrivals, services = checked(utilisation, service_s, ca2, cs2)
    return kingman_waits_s(rho, service, arrivals, services) * klb_factor(rho, arrivals, services)


def klb_factor(utilisation: Floats, ca2: Floats, cs2: Floats) -> Floats:
    """By what Kraemer and Langenbach-Belz lower Kingman's mean; 1 for Poisson arrivals and at saturation."""
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(klb_exponent(utilisation, ca2, cs2)))


def klb_exponent(utilisation: Floats, ca2: Floats, cs2: Floats) -> Floats:
    """Logarithm of klb_factor."""
    rho = np.minimum(utilisation, 1.0)
    even = -2 * (1 - rho) * (1 - np.minimum(ca2, 1.0)) ** 2 / np.maximum(3 * rho * (ca2 + cs2), _ALMOST_0)
    bursty = -(1 - rho) * (ca2 - 1) / np.maximum(ca2 + 4 * cs2, 1.0)  # of use where ca2 > 1
    return np.where(ca2 == 1, 0.0, np.where(ca2 < 1, even, bursty))


def allen_cunneen_waits_s(
    utilisation: npt.ArrayLike,
    service_s: npt.ArrayLike,
    servers: npt.ArrayLike,
    ca2: npt.ArrayLike,
    cs2: npt.ArrayLike,
) -> Floats:
    """allen_cunneen_wait_s of every station."""
    rho, service, arrivals, services = checked(utilisation, service_s, ca2, cs2)
    c = _checked_servers(servers)
    poisson = erlang_cs(c, rho * c) * service / (c * _idle(rho))
    return _unstable_at_1(rho, poisson * (arrivals + services) / 2)


def erlang_cs(servers: npt.ArrayLike, offered: npt.ArrayLike) -> Floats:
    """erlang_c of every station; 1 where the offered load is not below the servers: everything waits.

    Computed by the stable recursion of Erlang B, so hundreds of servers do not overflow.
    """
    c, load = np.broadcast_arrays(_checked_servers(servers), np.asarray(offered, dtype=float))
    blocked = np.ones(load.shape)
    for k in range(1, int(c.max(initial=1)) + 1):
        blocked = np.where(k <= c, load * blocked / (k + load * blocked), blocked)
    return np.where(load < c, blocked / np.maximum(1 - load / c * (1 - blocked), np.finfo(float).tiny), 1.0)


def checked(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    """Utilisation, service time and both variations in one shape; ModelError names what is negative or NaN."""
    names = ("utilisation", "service time", "ca2", "cs2")
    arrays = tuple(np.asarray(value, dtype=float) for value in values)
    for name, array in zip(names, arrays, strict=True):
        if not (array >= 0).all():
            worst = array[~(array >= 0)].flat[0]
            raise ModelError(f"{name} {worst:.3g}: none may be negative or NaN")
    return tuple(np.broadcast_arrays(*arrays))


def _checked_servers(servers: npt.ArrayLike) -> npt.NDArray[np.int64]:
    c = np.asarray(servers, dtype=np.int64)
    if (c < 1).any():
        raise ModelError(f"{c.min()} servers; a station has at least 1")
    return c


def _check_stable(utilisation: float) -> None:
    if not 0 <= utilisation < 1:
        raise ModelError(
            f"utilisation {utilisation:.3g} is not in [0, 1): the queue is unstable; raise the parallelism"
        )


def _idle(utilisation: Floats) -> Floats:
    """1 − ρ, and 1 where there is none, so that nothing is divided by zero before it is called unstable."""
    return np.where(utilisation < 1, 1 - utilisation, 1.0)


def _unstable_at_1(utilisation: Floats, waits_s: Floats) -> Floats:
    return np.where(utilisation < 1, waits_s, UNSTABLE)
