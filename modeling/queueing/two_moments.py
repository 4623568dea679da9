"""A distribution of a time from only its mean and squared coefficient of variation.

Gamma up to cv² = 1, two-phase hyper-exponential with balanced means above (Whitt 1982; Tijms 2003, B.2): both are
exponential at 1. Whitt's queueing network analyser takes third moments from the same two. Real service times with cv² >
1 can have shorter or longer tails, which two moments do not determine.
"""

import numpy as np
import numpy.typing as npt
import scipy

from modeling.arrays import Floats

EVENEST = 1e-6
"""Smallest cv² distinguished from a constant: a standard deviation of a thousandth of the mean."""


def mean_excess_s(time_s: npt.ArrayLike, mean_s: float, cv2: float) -> Floats:
    """E[max(T − time, 0)], the integral of the survival function from `time` on, in seconds."""
    time = np.asarray(time_s, dtype=float)
    if mean_s == 0:
        return np.zeros_like(time)
    with np.errstate(under="ignore"):
        if cv2 >= 1:
            # Each phase contributes half of the mean.
            slow = (1 - float(np.sqrt((cv2 - 1) / (cv2 + 1)))) / 2
            return np.asarray(sum(mean_s / 2 * np.exp(-2 * likely / mean_s * time) for likely in (1 - slow, slow)))
        even = max(cv2, EVENEST)
        scaled = time / (even * mean_s)
        return np.maximum(
            mean_s * scipy.special.gammaincc(1 / even + 1, scaled) - time * scipy.special.gammaincc(1 / even, scaled),
            0.0,
        )


def third_moment(cv2: Floats) -> Floats:
    """E[T³] over E[T]³."""
    return np.where(cv2 <= 1, (1 + cv2) * (1 + 2 * cv2), 3 * cv2 * (1 + cv2))


def tail_s(mean_s: float, cv2: float) -> float:
    """Seconds over which the tail falls by a factor of about e: the slow phase, or a gamma's scale."""
    if cv2 <= 1:
        return mean_s * cv2
    return mean_s / (1 - float(np.sqrt((cv2 - 1) / (cv2 + 1))))
