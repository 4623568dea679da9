"""Scales on which errors are similar at low and high load. Which one fits depends on the series."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from forecasting.arrays import Floats


@dataclass(frozen=True)
class Transform:
    """log: errors grow with the load (bursts, growth). sqrt: errors grow with its root (many independent arrivals)."""

    name: Literal["log", "sqrt"]

    def forward(self, counts: Floats) -> Floats:
        """Transform non-negative counts per window; missing ones stay NaN."""
        # 3/8 is Anscombe's (1948): it makes the variance of a Poisson count nearly constant.
        return np.log1p(counts) if self.name == "log" else np.sqrt(counts + 0.375)

    def inverse(self, values: Floats) -> Floats:
        """Counts per window, never negative."""
        return self.invert(np.array(values, dtype=np.float64))

    def invert(self, values: Floats) -> Floats:
        """The same in place of the values."""
        if self.name == "log":
            # exp(50) is beyond any arrival rate and far below overflow.
            np.expm1(np.minimum(values, 50.0, out=values), out=values)
        else:
            np.square(np.maximum(values, 0.0, out=values), out=values)
            values -= 0.375
        return np.maximum(values, 0.0, out=values)


LOG = Transform("log")
SQRT = Transform("sqrt")
