"""A straight line through samples, by weighted least squares."""

from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats


@dataclass(frozen=True)
class Line:
    """y = mean_y + slope · (x - mean_x). left: weighted sum of squared residuals. spread: weighted squares of x."""

    mean_x: float
    mean_y: float
    slope: float
    left: float
    spread: float
    samples: int

    def at(self, x: Floats) -> Floats:
        return self.mean_y + self.slope * (x - self.mean_x)

    @property
    def slope_error(self) -> float:
        return float(np.sqrt(self.left / (self.samples - 2) / self.spread))

    @property
    def start(self) -> float:
        """y at x = 0."""
        return self.mean_y - self.slope * self.mean_x

    @property
    def start_error(self) -> float:
        """Standard error of `start`, if weights are 1 on average."""
        return float(np.sqrt(self.left / (self.samples - 2) / self.samples + (self.mean_x * self.slope_error) ** 2))


def fitted_line(x: Floats, y: Floats, weights: Floats | None = None) -> Line:
    """Fit at least three samples whose x are not all equal. weights: default 1 each.

    >>> line = fitted_line(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0]))
    >>> line.start, line.slope, line.left
    (1.0, 2.0, 0.0)
    """
    weights = np.ones(x.size) if weights is None else weights
    mean_x, mean_y = float(np.average(x, weights=weights)), float(np.average(y, weights=weights))
    spread = float((weights * (x - mean_x) ** 2).sum())
    slope = float((weights * (x - mean_x) * (y - mean_y)).sum()) / spread
    left = float((weights * (y - mean_y - slope * (x - mean_x)) ** 2).sum())
    return Line(mean_x, mean_y, slope, left, spread, x.size)
