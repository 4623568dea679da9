"""How the waits of one station spread, in closed form for any number of stations at once.

A tuple waits with some probability; the wait of those that wait has a mean and a variation, through which a
two-moment distribution is laid (Whitt's queueing network analyser, 1983, 5.2). Use modeling/queueing/exact_wait.py
where one station may cost milliseconds instead of microseconds.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.queueing import two_moments
from modeling.queueing.queues import UNSTABLE, Floats, checked, klb_waits_s
from modeling.queueing.shared_queue import shared_delay_probability, shared_waits_s


@dataclass(frozen=True)
class Waits:
    """Waits and services of stations; all arrays of one shape, one entry a station.

    mean_s: of the wait, over all tuples, UNSTABLE where utilisation is 1 or more. delayed: share of the tuples that
    wait at all. delayed_cv2: squared coefficient of variation of the wait of those. service_s, service_cv2: of the
    service that follows.
    """

    mean_s: Floats
    delayed: Floats
    delayed_cv2: Floats
    service_s: Floats
    service_cv2: Floats

    @property
    def delayed_mean_s(self) -> Floats:
        """Mean wait of those that wait."""
        return np.where(self.delayed > 0, self.mean_s / np.where(self.delayed > 0, self.delayed, 1.0), 0.0)

    @property
    def variance_s2(self) -> Floats:
        """Of the wait over all tuples."""
        return self.mean_s * self._excess_s

    @property
    def _excess_s(self) -> Floats:
        """Variance over mean: E[D](1 + cv²) − E[W]; UNSTABLE stays so instead of becoming inf − inf."""
        finite = np.where(np.isfinite(self.mean_s), self.mean_s, 0.0)
        delayed_s = np.where(np.isfinite(self.delayed_mean_s), self.delayed_mean_s, 0.0)
        return np.where(np.isfinite(self.mean_s), delayed_s * (1 + self.delayed_cv2) - finite, UNSTABLE)

    def quantile_s(self, share: float) -> Floats:
        """The wait that `share` (0 <= share < 1) of the tuples does not exceed: 0 where more than that do not wait."""
        among = 1 - (1 - share) / np.maximum(self.delayed, 1 - share)
        waited = two_moments.quantile_s(among, self.delayed_mean_s, self.delayed_cv2)
        return np.where(self.delayed > 1 - share, waited, 0.0)

    @property
    def sojourn_s(self) -> Floats:
        """Mean of wait and service."""
        return self.mean_s + self.service_s

    def sojourn_quantile_s(self, share: float) -> Floats:
        """The wait and service that `share` of the tuples do not exceed: two moments through both together."""
        stable = np.isfinite(self.mean_s)
        mean_s = np.where(stable, self.sojourn_s, 1.0)
        by = np.where(mean_s > 0, mean_s, 1.0)
        waited = np.where(stable, self.mean_s, 0.0) / by * (np.where(stable, self._excess_s, 0.0) / by)
        spread = waited + (self.service_s / by) ** 2 * self.service_cv2
        return np.where(stable, two_moments.quantile_s(share, mean_s, spread), UNSTABLE)


def waits(
    utilisation: npt.ArrayLike,
    service_s: npt.ArrayLike,
    ca2: npt.ArrayLike,
    cs2: npt.ArrayLike,
    servers: npt.ArrayLike = 1,
) -> Waits:
    """Waits of G/G/1 (Kraemer and Langenbach-Belz) and, where servers > 1 share a queue, of G/G/c
    (modeling/queueing/shared_queue.py).

    utilisation: per server. Anything that broadcasts. Raises ModelError for values that are negative or NaN.
    """
    rho, service, arrivals, services = checked(utilisation, service_s, ca2, cs2)
    rho, service, arrivals, services, c = np.broadcast_arrays(rho, service, arrivals, services, np.asarray(servers))
    alone = c == 1
    mean_s, delayed = klb_waits_s(rho, service, arrivals, services), delay_probability(rho, arrivals, services)
    if not alone.all():
        # Equations are solved for these, which a queue of one server has no need of.
        mean_s = np.where(alone, mean_s, shared_waits_s(rho, service, c, arrivals, services))
        delayed = np.where(alone, delayed, shared_delay_probability(rho, c, arrivals, services))
    return Waits(mean_s, delayed, delayed_cv2(rho, services), service, services)


def delay_probability(utilisation: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """Share of the tuples that wait in G/G/1 (Kraemer and Langenbach-Belz 1976); exactly ρ for Poisson arrivals."""
    rho, _, arrivals, services = checked(utilisation, 0.0, ca2, cs2)
    rho = np.minimum(rho, 1.0)
    even = (1 + arrivals + rho * services) / np.maximum(
        1 + rho * (services - 1) + rho**2 * (4 * arrivals + services), 1e-100
    )
    bursty = 4 * rho / np.maximum(arrivals + rho**2 * (4 * arrivals + services), 1e-100)
    moved = rho + (arrivals - 1) * rho * (1 - rho) * np.where(arrivals <= 1, even, bursty)
    return np.clip(moved, 0.0, 1.0)


def delayed_cv2(utilisation: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """Squared variation of the wait of those that wait, as in M/G/1, exact there (Whitt 1983, 53): 1 at saturation."""
    rho, _, _, services = checked(utilisation, 0.0, 1.0, cs2)
    third = np.where(services >= 1, 3 * services * (1 + services), (1 + 2 * services) * (1 + services))
    rho = np.minimum(rho, 1.0)
    return np.asarray(np.maximum(2 * rho - 1 + 4 * (1 - rho) * third / (3 * (1 + services) ** 2), 0.0))
