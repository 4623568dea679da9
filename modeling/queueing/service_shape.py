"""The distribution of single service times beyond two moments: a histogram, scaled to any mean.

Two moments do not distinguish a few slow records from services that all vary somewhat, whose percentiles, and those of
the waits, differ by a quarter and more.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.queueing.lattice import Lattice, lattice_of, two_moment_lattice

_MAX = 1e6


@dataclass(frozen=True)
class ServiceShape:
    """times_s: of single services, each with its share; shares need not sum to 1. Only ratios of times matter.

    >>> slow = ServiceShape((0.001, 0.02), (0.95, 0.05))
    >>> round(slow.cv2, 2)  # E[S²]/E[S]² − 1 = 0.05 · 400 + 0.95 over 1.95², less 1
    4.51
    """

    times_s: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.times_s) != len(self.shares) or not self.times_s:
            raise ModelError(
                f"service histogram of {len(self.times_s)} times and {len(self.shares)} shares; give each time a share"
            )
        for name, values in (("time", self.times_s), ("share", self.shares)):
            for value in values:
                if not 0 <= value <= _MAX:
                    raise ModelError(f"service histogram: {name} {value}; give 0 to {_MAX:g}")
        if sum(time * share for time, share in zip(self.times_s, self.shares, strict=True)) <= 0:
            raise ModelError("service histogram: all times are 0; give a time above 0 with a share above 0")

    @cached_property
    def _relative(self) -> tuple[Floats, Floats]:
        """Times over their mean, and shares normalised to 1."""
        shares = np.asarray(self.shares) / sum(self.shares)
        times = np.asarray(self.times_s)
        return times / float(times @ shares), shares

    @property
    def cv2(self) -> float:
        return self._central(2)

    @property
    def largest(self) -> float:
        """Largest time over the mean."""
        return float(self._relative[0].max())

    def _central(self, power: int) -> float:
        times, shares = self._relative
        return float(shares @ (times - 1) ** power)

    def moments(self, cv2: npt.ArrayLike) -> tuple[Floats, Floats]:
        """E[S³] and E[S⁴] over powers of the mean, for the shape stretched around its mean to this cv²."""
        wide = np.sqrt(np.asarray(cv2, dtype=float) / max(self.cv2, 1e-300))
        third, fourth = self._central(3) * wide**3, self._central(4) * wide**4
        spread = self.cv2 * wide**2
        return third + 3 * spread + 1, fourth + 4 * third + 6 * spread + 1

    def lattice(self, mean_s: float, step_s: float, size: int) -> Lattice:
        """On a lattice with the same mean: each time is split between neighbouring steps; later ones are put at the
        end.
        """
        times, shares = self._relative
        return lattice_of(times * mean_s, shares, step_s, size)


def service_lattice(mean_s: float, cv2: float, shape: ServiceShape | None, step_s: float, size: int) -> Lattice:
    """Services with this shape, or with the two-moment distribution if it is None."""
    return two_moment_lattice(mean_s, cv2, step_s, size) if shape is None else shape.lattice(mean_s, step_s, size)
