"""Arrivals whose rate goes up and down between two levels, and the wait of those that come at each of them.

The variation of the gaps does not tell such arrivals: how long a rate lasts beside how long a queue remembers decides
whether bursts average out, are queues of their own, or fill one. Here both are known, and the queue is solved: exactly
for Poisson arrivals at each level and exponential services (MMPP/M/1), by customers of the same mean wait for others.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError

Floats = npt.NDArray[np.float64]

_SLIGHT = 1e-9
"""Bursts that differ from the mean rate by less are none."""

_NEVER = 1e-12
"""Smallest rate, beside a service, at which levels change: rounding would hide a slower one."""


@dataclass(frozen=True)
class Bursts:
    """A rate that is `factor` times its mean for the part `share` of the time, in spells of mean_s seconds on average,
    and so much lower between them that the mean is kept. Spells and pauses end at random (Markov).
    """

    share: float
    factor: float
    mean_s: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ModelError(f"bursts: share {self.share} of the time; give one above 0 and below 1")
        if not 1 <= self.factor <= (1 + 1e-12) / self.share:
            raise ModelError(
                f"bursts: factor {self.factor} over {self.share:g} of the time; give 1 to {1 / self.share:g}, which is "
                "where all arrivals are in bursts"
            )
        if not 0 < self.mean_s < np.inf:
            raise ModelError(f"bursts: mean_s {self.mean_s}; give a finite number of seconds above 0")

    @property
    def pause_factor(self) -> float:
        """Rate between bursts, over the mean."""
        return max(0.0, (1 - self.share * self.factor) / (1 - self.share))

    @property
    def pause_s(self) -> float:
        return self.mean_s * (1 - self.share) / self.share

    @property
    def variance(self) -> float:
        """Of the rate, over its mean squared."""
        return self.share * (1 - self.share) * (self.factor - self.pause_factor) ** 2

    @property
    def memory_s(self) -> float:
        """Over which the rate's correlation falls by a factor of e."""
        return self.mean_s * self.pause_s / (self.mean_s + self.pause_s)

    def dispersion(self, span_s: npt.ArrayLike, rate_per_s: float) -> Floats:
        """Variance over mean of the number of arrivals in a span: 1 in a short one, as of a Poisson process.

        >>> Bursts(0.5, 2.0, 1.0).dispersion([1e-6, 1e6], 10.0).round(2).tolist()  # in the end 1 + 2 · 10 · ½
        [1.0, 11.0]
        """
        spans = np.asarray(span_s, dtype=float) / self.memory_s
        with np.errstate(under="ignore"):
            lasting = 1 + np.expm1(-spans) / np.maximum(spans, 1e-300)
        return 1 + 2 * self.variance * rate_per_s * self.memory_s * np.where(spans > 1e-6, lasting, spans / 2)


@dataclass(frozen=True)
class BurstWaits:
    """Waits of those that come in bursts, and of those that come between them; arrays with these two first.

    weight: part of all tuples. P(W > t) = Σ chance · exp(−t / mean_s), over the second axis, which has two terms; a
    chance may be negative, their sum is the part that waits.
    """

    weight: Floats
    chance: Floats
    mean_s: Floats

    @property
    def delayed(self) -> Floats:
        return np.asarray(self.chance.sum(axis=1))

    def moment(self, power: int) -> Floats:
        """E[W], E[W²] or E[W³] of both."""
        return np.asarray((1.0, 2.0, 6.0)[power - 1] * (self.chance * self.mean_s**power).sum(axis=1))

    def survival(self, time_s: npt.ArrayLike) -> Floats:
        with np.errstate(under="ignore"):
            return np.asarray((self.chance * np.exp(-np.asarray(time_s) / self.mean_s)).sum(axis=1))


def burst_waits(utilisation: npt.ArrayLike, customer_s: npt.ArrayLike, bursts: Bursts) -> BurstWaits:
    """Waits under bursts at stations of a mean utilisation below 1.

    customer_s: mean of the exponential services that stand for those that there are, s (ca² + cs²)/2, at the same
    utilisation: so the mean is exact for services of every kind where bursts last very long or very short.

    The workload's transform (1 − ρ) u g (uI + Q − Λ(1 − B(u)))⁻¹ (Fischer and Meier-Hellstern 1993, 3.1) has two poles
    below 0, the roots of a cubic; its root above 0 tells g, the level at which an idle server is found.
    """
    rho, unit_s = np.broadcast_arrays(np.asarray(utilisation, dtype=float), np.asarray(customer_s, dtype=float))
    unit_s = np.maximum(unit_s, 1e-300)
    high, low = rho * bursts.factor, rho * bursts.pause_factor
    ending = np.maximum(unit_s / bursts.mean_s, _NEVER)
    beginning = ending * (bursts.share / (1 - bursts.share))
    # In units of a customer, t: t (1+t−high)(1+t−low) − (1+t)(beginning (1+t−high) + ending (1+t−low)) = 0.
    both, one, other = ending + beginning, 1 - high, 1 - low
    weighed = beginning * one + ending * other
    roots = _three_roots(one + other - both, one * other - both - weighed, -weighed)
    above, below = roots[2], np.minimum(roots[:2], -1e-300)
    # g with g · adjoint(above) = 0, adjoint of rows ((t(1+t−high) − ending(1+t), ending(1+t)), …).
    there = above * (1 + above - low) - beginning * (1 + above)
    first = beginning * (1 + above) / np.maximum(there + beginning * (1 + above), 1e-300)
    idle = np.stack([first, 1 - first])
    chance = np.empty((2, 2, *rho.shape))
    for k in range(2):
        t, rest = below[k], (below[k] - below[1 - k]) * (below[k] - above)
        rest = np.where(np.abs(rest) > 1e-300, rest, -1e-300)
        across = np.stack([t * (1 + t - low) - beginning * (1 + t), t * (1 + t - high) - ending * (1 + t)])
        other_way = np.stack([beginning * (1 + t), ending * (1 + t)])
        # A pole's residue r belongs to a tail of −r/t · exp(t x).
        chance[:, k] = -(1 - rho) * (1 + t) * (idle * across - idle[::-1] * other_way) / rest / t
    shares = np.array([bursts.share, 1 - bursts.share]).reshape(2, *([1] * rho.ndim))
    factors = np.array([bursts.factor, bursts.pause_factor]).reshape(shares.shape)
    return BurstWaits(
        np.broadcast_to(shares * factors, (2, *rho.shape)),
        chance / shares[:, None],
        np.broadcast_to(unit_s / -below, (2, 2, *rho.shape)),
    )


def _three_roots(square: Floats, linear: Floats, constant: Floats) -> Floats:
    """Real roots of x³ + square x² + linear x + constant, ascending; all three are real here (Viète)."""
    third = square / 3
    p = np.maximum(third**2 - linear / 3, 1e-300)
    q = third**3 - third * linear / 2 + constant / 2
    angle = np.arccos(np.clip(-q / p**1.5, -1.0, 1.0)) / 3
    turns = np.array([2 * np.pi / 3, -2 * np.pi / 3, 0.0]).reshape(3, *([1] * square.ndim))
    roots = 2 * np.sqrt(p) * np.cos(angle + turns) - third
    return np.sort(roots, axis=0)
