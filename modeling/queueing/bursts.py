"""Arrivals whose rate alternates between two levels, and the waits at each level.

The cv² of interarrival times does not describe such arrivals: the duration of a rate relative to the queue's memory
decides whether bursts average out, form their own queues, or fill one. Here the queue is solved: exactly for Poisson
arrivals at each level and exponential services (MMPP/M/1), otherwise with customers of the same mean wait.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.queueing.queues import NEARLY_FULL

_NEVER, _ALWAYS = 1e-12, 1e9
"""Smallest and largest rate of level changes relative to services: beyond them a level lasts, or averages out."""

_APART = 1e-6
"""Smallest relative distance of the two poles of a wait."""


@dataclass(frozen=True)
class Bursts:
    """A rate that is `factor` times its mean for a share `share` of the time, in bursts of mean_s seconds on average,
    and lower between them so that the mean is kept. Bursts and pauses end at random (Markov).
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
    def levels(self) -> "Levels":
        return Levels(*(np.asarray(each, dtype=float) for each in (self.share, self.factor, self.mean_s)))

    @property
    def variance(self) -> float:
        """Variance of the rate over its squared mean."""
        return float(self.share * (1 - self.share) * (self.factor - self.levels.pause_factor) ** 2)

    @property
    def memory_s(self) -> float:
        """Seconds over which the rate's correlation falls by a factor of e."""
        return self.mean_s * (1 - self.share)


@dataclass(frozen=True)
class Arrivals:
    """Variability of arrivals. cv2: squared coefficient of variation of interarrival times at each rate; 1 is Poisson.
    bursts: None for a constant rate. by_source: exceptions by source.
    """

    cv2: float = 1.0
    bursts: Bursts | None = None
    by_source: Mapping[str, "Arrivals"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.cv2 < np.inf:
            raise ModelError(f"arrivals: cv2 {self.cv2}; give a finite number, not negative")

    @classmethod
    def of(cls, given: "float | Arrivals") -> "Arrivals":
        """Also accepts a plain cv2."""
        return given if isinstance(given, Arrivals) else cls(given)

    def at(self, source: str) -> "Arrivals":
        """If any source has bursts, all get two levels (equal for a constant rate), so that levels can be mixed."""
        found = self.by_source.get(source, self)
        some = next((each.bursts for each in (self, *self.by_source.values()) if each.bursts is not None), None)
        steady = None if some is None else replace(some, factor=1.0)
        return Arrivals(found.cv2, found.bursts or steady)


@dataclass(frozen=True)
class Levels:
    """The two rates of one or many streams, with the fields of Bursts as arrays that broadcast."""

    share: Floats
    factor: Floats
    mean_s: Floats

    @property
    def pause_factor(self) -> Floats:
        """Rate between bursts over the mean rate."""
        return np.maximum((1 - self.share * self.factor) / (1 - self.share), 0.0)

    @property
    def weight(self) -> Floats:
        """Share of all tuples in bursts."""
        return np.minimum(self.share * self.factor, 1.0)

    @property
    def of_kinds(self) -> "Levels":
        """The same of (plans, scenarios) for all kinds of instances, shape (plans, 1, scenarios)."""
        return Levels(self.share[:, None], self.factor[:, None], self.mean_s[:, None])

    def past(self, utilisation: npt.ArrayLike) -> "Levels":
        """Levels after a station of this mean utilisation: departures are limited to its capacity, and last longer when
        it is full.
        """
        pause = self.pause_factor
        factor = np.minimum(self.factor, 1 / np.clip(utilisation, 1e-12, 1 - 1e-9))
        share = np.where(factor > pause, (1 - pause) / np.maximum(factor - pause, 1e-12), self.share)
        share = np.clip(share, self.share, 1 - 1e-9)
        return Levels(share, factor, self.mean_s * share / self.share)

    def together(self, other: "Levels", part: npt.ArrayLike) -> "Levels":
        """Superposition with another stream that has the share `part` of all tuples, assuming simultaneous bursts."""
        its = np.asarray(part, dtype=float)
        return Levels(
            *(
                one + its * (two - one)
                for one, two in (
                    (self.share, other.share),
                    (self.factor, other.factor),
                    (self.mean_s, other.mean_s),
                )
            )
        )


@dataclass(frozen=True)
class BurstWaits:
    """Waits of tuples in bursts and between them; arrays have these two on the first axis.

    weight: share of all tuples. P(W > t) = Σ chance · exp(−t / mean_s), over the second axis with two terms; a chance
    may be negative, their sum is the share that waits.
    """

    weight: Floats
    chance: Floats
    mean_s: Floats

    @property
    def delayed(self) -> Floats:
        return np.asarray(self.chance.sum(axis=1))

    def moment(self, power: int) -> Floats:
        """E[W], E[W²] or E[W³] in bursts and between them."""
        moment = (1.0, 2.0, 6.0)[power - 1] * (self.chance * self.mean_s**power).sum(axis=1)
        return np.asarray(np.maximum(moment, 0.0))  # rounding can give a little less where next to nothing waits

    def survival(self, time_s: npt.ArrayLike) -> Floats:
        with np.errstate(under="ignore"):
            return np.asarray((self.chance * np.exp(-np.asarray(time_s) / self.mean_s)).sum(axis=1))


def burst_waits(
    utilisation: npt.ArrayLike, customer_s: npt.ArrayLike, levels: Levels, squares: Levels | None = None
) -> BurstWaits:
    """Waits under bursts at stations with mean utilisation below 1.

    customer_s: mean of equivalent exponential services, s (ca² + cs²)/2, at the same utilisation; the mean wait is then
    exact for any services if bursts are very long or very short. levels: of the work. squares: of the squared service
    times that arrive, if their mix is another in bursts: E[S²]/E[S] at a level is that many times the mean one.

    The workload's transform (1 − ρ) u g (uI + Q − Λ(1 − B(u)))⁻¹ (Fischer and Meier-Hellstern 1993, 3.1) has two poles
    below 0, roots of a cubic; the root above 0 determines g, the distribution of the level when the server is idle.
    """
    if squares is not None:
        unit_s, some = np.asarray(customer_s, dtype=float), levels.pause_factor > 0
        one = burst_waits(utilisation, unit_s * (squares.factor / levels.factor), levels)
        longer = np.where(some, squares.pause_factor / np.where(some, levels.pause_factor, 1.0), 1.0)
        other = burst_waits(utilisation, unit_s * longer, levels)
        chance, mean_s = np.stack([one.chance[0], other.chance[1]]), np.stack([one.mean_s[0], other.mean_s[1]])
        return BurstWaits(one.weight, chance, mean_s)
    rho, unit_s, share, factor, mean_s, pause_factor = np.broadcast_arrays(
        *(
            np.asarray(each, dtype=float)
            for each in (
                np.minimum(utilisation, NEARLY_FULL),
                customer_s,
                levels.share,
                levels.factor,
                levels.mean_s,
                levels.pause_factor,
            )
        )
    )
    unit_s = np.maximum(unit_s, 1e-300)
    high, low = rho * factor, rho * pause_factor
    ending = np.clip(unit_s / mean_s, _NEVER, _ALWAYS)
    beginning = ending * (share / (1 - share))
    # In units of a customer, t: t (1+t−high)(1+t−low) − (1+t)(beginning (1+t−high) + ending (1+t−low)) = 0.
    both, one, other = ending + beginning, 1 - high, 1 - low
    # beginning · one + ending · other, without cancellation: above 0 below saturation, so no root is 0.
    weighed = both * (1 - rho)
    roots = _three_roots(one + other - both, one * other - both - weighed, -weighed)
    above, below = roots[2], np.minimum(roots[:2], -1e-300)
    # Two equal poles have no residues of their own: keep them apart.
    below[0] = np.minimum(below[0], below[1] * (1 + _APART))
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
        # A pole with residue r gives a tail of −r/t · exp(t x).
        chance[:, k] = -(1 - rho) * (1 + t) * (idle * across - idle[::-1] * other_way) / rest / t
    shares = np.stack([share, 1 - share])
    return BurstWaits(
        np.stack([share * factor, (1 - share) * pause_factor]),
        chance / shares[:, None],
        np.broadcast_to(unit_s / -below, (2, 2, *rho.shape)),
    )


def _three_roots(square: Floats, linear: Floats, constant: Floats) -> Floats:
    """Real roots of x³ + square x² + linear x + constant, ascending; all three are real here (Viète). Those near 0 are
    taken from the largest, by division, since the sum of Viète's terms would lose them.
    """
    third = square / 3
    p = np.maximum(third**2 - linear / 3, 1e-300)
    q = third**3 - third * linear / 2 + constant / 2
    angle = np.arccos(np.clip(-q / p**1.5, -1.0, 1.0)) / 3
    turns = np.array([2 * np.pi / 3, -2 * np.pi / 3, 0.0]).reshape(3, *([1] * square.ndim))
    viete = 2 * np.sqrt(p) * np.cos(angle + turns) - third
    largest = np.take_along_axis(viete, np.abs(viete).argmax(axis=0)[None], axis=0)[0]
    largest = np.where(np.abs(largest) > 1e-150, largest, 1e-150)
    # x³ + … = (x − largest) (x² + b x + c)
    c = -constant / largest
    b = (c - linear) / largest
    far = -(b + np.copysign(np.sqrt(np.maximum(b * b - 4 * c, 0.0)), b)) / 2
    near = np.where(far != 0, c / np.where(far != 0, far, 1.0), 0.0)
    return np.sort(np.stack([largest, far, near]), axis=0)
