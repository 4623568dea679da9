"""Distributions of times on a lattice of equal steps, where sums are products of transforms and mixtures are sums.

Missing mass is at infinity, as after an unstable operator. Putting a distribution on a lattice preserves its mean
exactly; its variance grows by at most a quarter of a step squared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.queueing import two_moments


@dataclass(frozen=True)
class Lattice:
    """mass[k]: probability of k steps of step_s seconds. The remainder to 1 is at infinity."""

    step_s: float
    mass: Floats

    @property
    def lost(self) -> float:
        """Probability of infinity; 0 if below rounding."""
        lost = 1 - float(self.mass.sum())
        return lost if lost > 1e-6 else 0.0

    @property
    def mean_s(self) -> float:
        if self.lost:
            return float("inf")
        return float(self.mass @ np.arange(self.mass.size)) * self.step_s

    @property
    def variance_s2(self) -> float:
        if self.lost:
            return float("inf")
        steps = np.arange(self.mass.size)
        return float(self.mass @ (steps - self.mass @ steps) ** 2) * self.step_s**2

    def survival(self, time_s: float) -> float:
        """P(T > time)."""
        return max(0.0, 1 - float(self.mass[: int(np.floor(time_s / self.step_s)) + 1].sum()))

    def quantile_s(self, share: float) -> float:
        """Quantile `share` (0 <= share < 1); infinite if that share is never reached.

        Interpolates as if each step's mass were spread evenly around it; only the mass at 0 stays 0.
        """
        if not 0 <= share < 1:
            raise ModelError(f"quantile {share} is not in [0, 1); 0.99 is the p99")
        below = np.cumsum(self.mass)
        if share >= below[-1]:
            return float("inf") if self.lost else float((self.mass.size - 1) * self.step_s)
        k = int(np.searchsorted(below, share, side="right"))
        if k == 0:
            return 0.0
        return (k - 0.5 + (share - float(below[k - 1])) / float(self.mass[k])) * self.step_s

    def on(self, step_s: float, size: int) -> "Lattice":
        """The same on another lattice with the same mean: each mass is split between the two neighbouring steps. Mass
        beyond the other lattice is put at its end.
        """
        return lattice_of(np.arange(self.mass.size, dtype=np.float64) * self.step_s, self.mass, step_s, size)


def lattice_of(times_s: Floats, shares: Floats, step_s: float, size: int) -> Lattice:
    """Times with their shares on a lattice, as in Lattice.on."""
    place = np.minimum(times_s / step_s, size - 1.0)
    low = place.astype(np.int64)
    mass = np.zeros(size)
    np.add.at(mass, low, shares * (1 - place + low))
    np.add.at(mass, np.minimum(low + 1, size - 1), shares * (place - low))
    return Lattice(step_s, mass)


def two_moment_lattice(mean_s: float, cv2: float, step_s: float, size: int) -> Lattice:
    """The two-moment distribution on a lattice: mass between two steps is split so that the mean is preserved.

    Mass beyond the end is put there.
    """
    return lattice_of_excess(two_moments.mean_excess_s(np.arange(size) * step_s, mean_s, cv2), step_s)


def lattice_of_excess(excess_s: Floats, step_s: float) -> Lattice:
    """A distribution on a lattice from its mean excesses E[max(T − t, 0)] at all steps t, as in two_moment_lattice."""
    excess = excess_s / step_s
    excess = excess - excess[-1]
    mass = np.empty(excess.size)
    # Second differences of E[max(T − t, 0)] are the masses of a distribution with the same mean.
    mass[0] = 1 + excess[1] - excess[0]
    mass[1:-1] = excess[2:] - 2 * excess[1:-1] + excess[:-2]
    mass[-1] = excess[-2]
    return Lattice(step_s, np.maximum(mass, 0.0))


def mixture(parts: Sequence[tuple[float, Lattice]]) -> Lattice:
    """The mixture of lattices by weight; equal weights if all are 0."""
    total = sum(weight for weight, _ in parts)
    shares = [weight / total if total > 0 else 1 / len(parts) for weight, _ in parts]
    return Lattice(
        parts[0][1].step_s,
        np.sum([share * part.mass for share, (_, part) in zip(shares, parts, strict=True)], axis=0),
    )
