"""Scaling losses of an operator: p instances do the work of fewer than p."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.wording import count_of

_MAX = 1e6


@dataclass(frozen=True)
class ScaleEfficiency:
    """Service time at p instances, from that at `measured_at`: s(p) = s · (p/measured_at)^(1 − exponent) +
    coordination_s · (p − measured_at), never below 0.

    exponent: β of a throughput that grows as p^β; 1 is linear, below 1 service time grows with parallelism.
    coordination_s: added to the service time of a tuple by each further instance (Gunther's coherency).

    >>> float(ScaleEfficiency(exponent=0.5).service_s(1.0, 4))  # twice the throughput of one
    2.0
    """

    exponent: float = 1.0
    coordination_s: float = 0.0
    measured_at: int = 1
    exponent_error: float = 0.0
    coordination_error_s: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.exponent) and 0 < self.exponent <= 2):
            raise ModelError(f"scale exponent {self.exponent}; give a number above 0, at most 2")
        if not (np.isfinite(self.coordination_s) and 0 <= self.coordination_s <= _MAX):
            raise ModelError(f"coordination_s {self.coordination_s}; give seconds, not below 0, at most {_MAX:g}")
        for name in ("exponent_error", "coordination_error_s"):
            error = getattr(self, name)
            if not (np.isfinite(error) and 0 <= error <= _MAX):
                raise ModelError(
                    f"scale efficiency: {name} {error}; give a finite number, not below 0, at most {_MAX:g}"
                )
        if self.measured_at < 1:
            raise ModelError(f"scale efficiency measured at {count_of(self.measured_at, 'instance')}; give at least 1")

    def service_s(
        self,
        service_s: float,
        parallelism: npt.ArrayLike,
        exponent: npt.ArrayLike | None = None,
        coordination_s: npt.ArrayLike | None = None,
    ) -> Floats:
        """Seconds per tuple at `parallelism` instances, broadcast. service_s: at `measured_at` instances. exponent,
        coordination_s: override the fields.
        """
        beta = self.exponent if exponent is None else np.asarray(exponent)
        each_s = self.coordination_s if coordination_s is None else np.asarray(coordination_s)
        further = np.asarray(parallelism, dtype=np.float64) / self.measured_at
        scaled = service_s * further ** (1 - beta) + each_s * (np.asarray(parallelism) - self.measured_at)
        return np.asarray(np.maximum(scaled, 0.0))


LINEAR = ScaleEfficiency()
