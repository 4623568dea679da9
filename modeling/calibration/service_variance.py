"""How much the service times of single tuples vary: from their second moment, else from the spread of their means.

The variance over one-minute means is not that of a tuple: a mean over n tuples varies n times less.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from modeling.errors import ModelError

Floats = npt.NDArray[np.float64]

LEVEL = 0.95


@dataclass(frozen=True)
class ServiceVariance:
    """cv2: squared coefficient of variation of the service time of a tuple; low, high: where it lies with LEVEL, given
    that tuples are independent of each other (dependent ones make it too high).
    """

    cv2: float
    low: float
    high: float


def variance_from_moments(mean_s: float, second_moment_s2: float, tuples: float) -> ServiceVariance:
    """From the mean and the mean square of the service times of so many tuples.

    The interval is that of a variance of normal values, wide enough for lighter tails. Raises ModelError where the mean
    square lies below the square of the mean, which no times can have.

    >>> variance_from_moments(2.0, 8.0, 1000).cv2  # (8 - 4) / 4: exponential
    1.0
    """
    if not (np.isfinite(mean_s) and mean_s > 0 and np.isfinite(second_moment_s2) and tuples >= 2):
        raise ModelError(
            f"service times of mean {mean_s} s and mean square {second_moment_s2} s² over {tuples} tuples; give finite "
            "numbers above 0, of at least 2 tuples"
        )
    variance = second_moment_s2 - mean_s**2
    if variance < -1e-9 * second_moment_s2:
        raise ModelError(
            f"mean square {second_moment_s2} s² of service times lies below the square of their mean {mean_s} s; "
            "check the units of both"
        )
    cv2 = max(0.0, variance) / mean_s**2
    return ServiceVariance(cv2, *_interval(cv2, tuples - 1))


def variance_from_means(means_s: Sequence[float], tuples: Sequence[float]) -> ServiceVariance:
    """From means over spans, each of so many tuples: n times the variance of means of n tuples.

    Raises ModelError for fewer than 2 spans, and for numbers that cannot be.

    >>> variance_from_means([1.0, 3.0], [100, 100]).cv2  # variance of the means 2, of 100 tuples each: 200 / 2²
    50.0
    """
    means, counts = np.asarray(means_s, dtype=np.float64), np.asarray(tuples, dtype=np.float64)
    if means.size < 2 or means.size != counts.size:
        raise ModelError(f"{means.size} means of {counts.size} spans; give both of at least 2 spans")
    if not (np.isfinite(means).all() and (means > 0).all() and np.isfinite(counts).all() and (counts >= 1).all()):
        raise ModelError("means of service times are finite and above 0, of at least one tuple each; drop the others")
    mean = float(np.average(means, weights=counts))
    # Each squared deviation, times its tuples, is an estimate of the variance of one tuple.
    variance = float((counts * (means - mean) ** 2).sum() / (means.size - 1))
    cv2 = variance / mean**2
    return ServiceVariance(cv2, *_interval(cv2, means.size - 1))


def variance_from_spread(cv2: float, freedom: float) -> ServiceVariance:
    """From an estimate that rests on so many degrees of freedom."""
    return ServiceVariance(cv2, *_interval(cv2, freedom))


def _interval(cv2: float, freedom: float) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    return float(cv2 * freedom / chi2.ppf(1 - tail, freedom)), float(cv2 * freedom / chi2.ppf(tail, freedom))
