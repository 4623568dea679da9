"""Queueing delay: closed forms of one station, and how variability passes from station to station."""

import math

from modeling.errors import ModelError


def kingman_wait_s(utilisation: float, service_s: float, ca2: float, cs2: float) -> float:
    """Mean G/G/1 queueing delay in seconds (Kingman 1961), a heavy-traffic approximation; exact for M/G/1.

    ca2, cs2: squared coefficients of variation of inter-arrival and service times.
    Raises ModelError unless 0 <= utilisation < 1: at 1 and above the queue has no mean, it is unstable.

    >>> kingman_wait_s(0.5, 1.0, 1.0, 1.0)  # M/M/1: rho / (1 - rho) * s
    1.0
    """
    _check(utilisation, service_s, ca2, cs2)
    return utilisation / (1 - utilisation) * service_s * (ca2 + cs2) / 2


def allen_cunneen_wait_s(utilisation: float, service_s: float, servers: int, ca2: float, cs2: float) -> float:
    """Mean G/G/c queueing delay in seconds (Allen 1990): Erlang's M/M/c delay scaled by the variability.

    utilisation: per server, λ·s/c. Exact for M/M/c; within about 10 % for moderate variability.
    Raises ModelError unless 0 <= utilisation < 1 and servers >= 1.
    """
    _check(utilisation, service_s, ca2, cs2)
    if servers < 1:
        raise ModelError(f"{servers} servers; a station has at least 1")
    waiting = erlang_c(servers, utilisation * servers)
    return waiting * service_s / (servers * (1 - utilisation)) * (ca2 + cs2) / 2


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival to M/M/c has to wait (Erlang 1917). offered: λ·s in erlangs, below servers.

    Computed by the stable recursion of Erlang B, so hundreds of servers do not overflow.

    >>> round(erlang_c(2, 1.0), 6)  # by hand: (1/2·2) / (1 + 1 + 1/2·2) = 1/3
    0.333333
    """
    if not 0 <= offered < servers:
        raise ModelError(f"offered load {offered:.3g} >= {servers} servers is unstable; add servers")
    if offered == 0:
        return 0.0
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def departure_ca2(utilisation: float, ca2: float, cs2: float) -> float:
    """Squared variation of the times between departures of G/G/1 (Marshall 1968, as in Whitt's QNA)."""
    busy2 = min(1.0, utilisation) ** 2
    return (1 - busy2) * ca2 + busy2 * cs2


def thinned_ca2(ca2: float, share: float) -> float:
    """Squared variation of a stream of which each tuple is kept with probability `share` (random routing)."""
    return share * ca2 + 1 - share


def dealt_ca2(ca2: float, ways: int) -> float:
    """Squared variation of every `ways`-th tuple of a stream (round robin): the sum of `ways` gaps."""
    return ca2 / ways


def merged_ca2(parts: list[tuple[float, float]]) -> float:
    """Squared variation of a superposition of (rate, ca2), weighted by rate (the asymptotic method of Whitt 1983)."""
    total = math.fsum(rate for rate, _ in parts)
    return math.fsum(rate * ca2 for rate, ca2 in parts) / total if total > 0 else 1.0


def _check(utilisation: float, service_s: float, ca2: float, cs2: float) -> None:
    if not 0 <= utilisation < 1:
        raise ModelError(
            f"utilisation {utilisation:.3g} is not in [0, 1): the queue is unstable; raise the parallelism"
        )
    if not (service_s >= 0 and ca2 >= 0 and cs2 >= 0):
        raise ModelError(f"service time {service_s} s, ca2 {ca2}, cs2 {cs2}: none may be negative or NaN")
