"""A measured number: its value, standard error and 95 % interval."""

from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats

LEVEL = 0.95
LONE_ERROR = 0.05
"""Minimum relative standard error of a single sample: the speed of machines varies from minute to minute."""


@dataclass(frozen=True)
class Measured:
    """low, high: confidence interval at LEVEL."""

    value: float
    error: float
    low: float
    high: float

    def with_error(self, error: float) -> "Measured":
        """The same, widened by a further independent error."""
        reach = error * float(scipy.special.ndtri((1 + LEVEL) / 2))
        low, high = float(np.hypot(self.value - self.low, reach)), float(np.hypot(self.high - self.value, reach))
        return Measured(self.value, float(np.hypot(self.error, error)), max(0.0, self.value - low), self.value + high)

    def plus(self, other: "Measured") -> "Measured":
        """The sum with an independent one."""
        both = self.with_error(other.error)
        return Measured(self.value + other.value, both.error, both.low + other.value, both.high + other.value)


def measured(value: float, error: float, freedom: float = np.inf, least: float = 0.0) -> Measured:
    """A number with Student's t interval. freedom: degrees of freedom, infinite for a normal. least: lower bound.

    >>> [round(end, 2) for end in (measured(10, 1).low, measured(10, 1, freedom=4).high)]  # ± 1.96, ± 2.78
    [8.04, 12.78]
    """
    tail = (1 + LEVEL) / 2
    reach = error * float(scipy.special.stdtrit(freedom, tail) if np.isfinite(freedom) else scipy.special.ndtri(tail))
    return Measured(value, error, max(least, value - reach), value + reach)


def unbounded(value: float) -> Measured:
    """A number with unknown error."""
    return Measured(value, np.inf, 0.0, np.inf)


def ratio_with_error(numerators: Floats, denominators: Floats) -> tuple[float, float]:
    """Ratio of sums and its standard error by linearisation (Cochran, Sampling Techniques, 6.4); error 0 for one
    sample.

    >>> ratio_with_error(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    (2.0, 0.0)
    """
    ratio = float(numerators.sum() / denominators.sum())
    n = numerators.size
    if n < 2:
        return ratio, 0.0
    residuals = numerators - ratio * denominators
    return ratio, float(np.sqrt((residuals**2).sum() / (n - 1) / n) / denominators.mean())


def measured_ratio(numerators: Floats, denominators: Floats, lone_error: float) -> Measured:
    """Ratio of sums over samples, each one draw of an instance and span; samples without tuples are ignored.

    lone_error: relative standard error of a single sample, which has no spread; at least LONE_ERROR.
    """
    informative = denominators > 0
    if informative.sum() < 2:
        value = float(numerators.sum() / denominators.sum())
        return measured(value, value * max(lone_error, LONE_ERROR))
    return measured(
        *ratio_with_error(np.where(informative, numerators, 0.0), denominators), freedom=float(informative.sum()) - 1
    )
