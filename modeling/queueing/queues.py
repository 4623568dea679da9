"""Queueing delay in G/G/1: closed forms for any number of stations at once; arguments broadcast.

ca2, cs2 everywhere: squared coefficients of variation of inter-arrival and service times. All raise ModelError for
values that are negative or NaN.
"""

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.queueing.two_moments import third_moment

UNSTABLE = float("inf")
"""The wait at a utilisation of 1 or more: the queue grows without bound."""

NEARLY_FULL = 1 - 1e-9
"""Stands for larger utilisations: waits are then beyond any time that matters, and rounding would decide them."""

_ALMOST_0 = 1e-200
"""Keeps exponents finite without variability or arrivals."""


def kingman_waits_s(
    utilisation: npt.ArrayLike, service_s: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike
) -> Floats:
    """Mean delay in seconds (Kingman 1961), a heavy-traffic approximation; exact for M/G/1, UNSTABLE from 1 on.

    >>> float(kingman_waits_s(0.5, 1.0, 1.0, 1.0))  # M/M/1: rho / (1 - rho) * s
    1.0
    """
    rho, service, arrivals, services = _checked(utilisation, service_s, ca2, cs2)
    stable = rho < 1
    return np.where(stable, rho / np.where(stable, 1 - rho, 1.0) * service * (arrivals + services) / 2, UNSTABLE)


def klb_waits_s(utilisation: npt.ArrayLike, service_s: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """Mean delay in seconds (Kraemer and Langenbach-Belz 1976), UNSTABLE from a utilisation of 1 on.

    Kingman's wait times a correction for non-Poisson arrivals below saturation: both more even and burstier arrivals
    wait less than in Kingman's formula. Exact for M/G/1, equal to Kingman's in heavy traffic.
    """
    rho, _, arrivals, services = _checked(utilisation, service_s, ca2, cs2)
    idle = 1 - np.minimum(rho, 1.0)
    even = -2 * idle * (1 - np.minimum(arrivals, 1.0)) ** 2 / np.maximum(3 * rho * (arrivals + services), _ALMOST_0)
    bursty = -idle * (arrivals - 1) / np.maximum(arrivals + 4 * services, 1.0)  # used for ca2 > 1
    with np.errstate(under="ignore"):
        lower = np.exp(np.where(arrivals == 1, 0.0, np.where(arrivals < 1, even, bursty)))
    return kingman_waits_s(utilisation, service_s, ca2, cs2) * lower


def delay_probability(utilisation: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """Share of the tuples that wait (Kraemer and Langenbach-Belz 1976); exactly ρ for Poisson arrivals."""
    rho, _, arrivals, services = _checked(utilisation, 0.0, ca2, cs2)
    rho = np.minimum(rho, 1.0)
    even = (1 + arrivals + rho * services) / np.maximum(
        1 + rho * (services - 1) + rho**2 * (4 * arrivals + services), 1e-100
    )
    bursty = 4 * rho / np.maximum(arrivals + rho**2 * (4 * arrivals + services), 1e-100)
    moved = rho + (arrivals - 1) * rho * (1 - rho) * np.where(arrivals <= 1, even, bursty)
    return np.clip(moved, 0.0, 1.0)


def delayed_cv2(utilisation: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """Squared coefficient of variation of the wait of those that wait, exact for M/G/1 (Whitt 1983, 53); 1 at
    saturation.
    """
    rho, _, _, services = _checked(utilisation, 0.0, 1.0, cs2)
    rho = np.minimum(rho, 1.0)
    return np.asarray(np.maximum(2 * rho - 1 + 4 * (1 - rho) * third_moment(services) / (3 * (1 + services) ** 2), 0.0))


def merged_excess(several: npt.ArrayLike, utilisation: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """How much of ca² − 1 of equal independent streams a queue feels once they merge; over short spans they look
    Poisson. several: their number, less one.

    Albin's hybrid (1984) with factors fitted to simulations for Kraemer and Langenbach-Belz's wait: the evener the
    services, the more that wait stems from arrivals that coincide. Errors: benchmarks/results/queueing.md.
    """
    idle = 1 - np.minimum(utilisation, 1.0)
    return np.asarray(1 / (1 + np.asarray(several) * idle * (0.5 / (1 + 3 * np.asarray(cs2)) + 0.5 * idle)))


def full_line_throughput(stations: npt.ArrayLike, cs2: npt.ArrayLike, buffered: npt.ArrayLike) -> Floats:
    """Throughput of `stations` in line with equal mean service times, over that of a single one (Blumenfeld 1990).

    buffered: tuples that fit between two stations. Within 2 % of simulations and of M/M/1/K in series.

    >>> round(float(full_line_throughput(2, 1.0, 16)), 3), round(18 / 19, 3)  # two exponential ones: (B + 2)/(B + 3)
    (0.947, 0.947)
    """
    n, cv = np.asarray(stations, dtype=float), np.sqrt(np.asarray(cs2, dtype=float))
    room = np.asarray(buffered, dtype=float) / np.maximum(2 * cv, 1e-12)
    return np.asarray(1 / (1 + 1.67 * (n - 1) * cv / (1 + n + 0.31 * cv + 1.67 * n * room)))


def _checked(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    """Utilisation, service time and both cv² in one shape; raises ModelError naming a negative value or NaN."""
    names = ("utilisation", "service time", "ca2", "cs2")
    arrays = tuple(np.asarray(value, dtype=float) for value in values)
    for name, array in zip(names, arrays, strict=True):
        if not (array >= 0).all():
            worst = array[~(array >= 0)].flat[0]
            raise ModelError(f"{name} {worst:.3g}: none may be negative or NaN")
    return tuple(np.broadcast_arrays(*arrays))
