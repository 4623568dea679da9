"""Quantiles of a time from its mean, variance and skewness, for millions of times at once.

A gamma distribution that is shifted so that it has all three (Pearson's type III); exact for a constant plus a gamma,
so also for exponentials and Erlang's. Its quantiles, in standard deviations from the mean, depend on the skewness
alone and are looked up in a table.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

Floats = npt.NDArray[np.float64]

POINTS = 2048
"""Of the table, over all skewness from minus to plus infinity."""


def quantile_s(share: float, mean_s: npt.ArrayLike, deviation_s: npt.ArrayLike, skewness: npt.ArrayLike) -> Floats:
    """The time that `share` (0 < share < 1) does not exceed; never below 0.

    >>> round(float(quantile_s(0.95, 2.0, 2.0, 2.0)), 3)  # exponential of mean 2: 2 ln 20
    5.991
    """
    skew = np.asarray(skewness, dtype=np.float64)
    at, table = _table(share)
    return np.asarray(np.maximum(mean_s + deviation_s * np.interp(skew / (2 + np.abs(skew)), at, table), 0.0))


@cache
def _table(share: float) -> tuple[Floats, Floats]:
    """Standard deviations from the mean, over skewness/(2 + |skewness|)."""
    at = np.linspace(-0.98, 0.98, POINTS)
    skewness = 2 * at / (1 - np.abs(at))
    # The shape of the gamma is 4/skewness²; below 1e-3 it is a normal distribution, corrected for the skewness left.
    shape = 4 / np.maximum(skewness**2, 1e-6)
    below = np.where(skewness < 0, 1 - share, share)
    deviations = (gammaincinv(shape, below) - shape) / np.sqrt(shape)
    return at, np.where(skewness < 0, -deviations, deviations)
