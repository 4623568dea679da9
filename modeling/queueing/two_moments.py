"""A distribution of a time from its mean and squared coefficient of variation alone.

Gamma up to cv² = 1, hyper-exponential of two phases with balanced means above (Whitt 1982; Tijms 2003, B.2): both are
exponential at 1. The same two are what Whitt's queueing network analyser takes third moments from. Real service times
with cv² > 1 can have a shorter or longer tail than this one; two moments do not tell.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammainccinv

Floats = npt.NDArray[np.float64]

EVENEST = 1e-6
"""Smallest cv² told apart from a constant: a thousandth of the mean as standard deviation."""

_HALVINGS = 80
"""Of the bracket that holds a hyper-exponential quantile: to the last bit of a double."""


def survival(time_s: npt.ArrayLike, mean_s: npt.ArrayLike, cv2: npt.ArrayLike) -> Floats:
    """P(T > time). At a mean of 0 there is nothing above 0.

    >>> float(survival(0.0, 1.0, 4.0))
    1.0
    """
    time, mean, spread = _arrays(time_s, mean_s, cv2)
    positive = np.where(mean > 0, mean, 1.0)
    even = np.clip(spread, EVENEST, 1.0)
    likely, fast, slow = _phases(positive, np.maximum(spread, 1.0))
    with np.errstate(under="ignore"):
        gamma = gammaincc(1 / even, time / (even * positive))
        hyper = likely * np.exp(-fast * time) + (1 - likely) * np.exp(-slow * time)
    return np.where(mean > 0, np.where(spread > 1, hyper, gamma), 0.0)


def mean_excess_s(time_s: npt.ArrayLike, mean_s: npt.ArrayLike, cv2: npt.ArrayLike) -> Floats:
    """E[max(T − time, 0)], the integral of the survival function from `time` on, in seconds."""
    time, mean, spread = _arrays(time_s, mean_s, cv2)
    positive = np.where(mean > 0, mean, 1.0)
    even = np.clip(spread, EVENEST, 1.0)
    likely, fast, slow = _phases(positive, np.maximum(spread, 1.0))
    with np.errstate(under="ignore"):
        scaled = time / (even * positive)
        gamma = positive * gammaincc(1 / even + 1, scaled) - time * gammaincc(1 / even, scaled)
        hyper = likely / fast * np.exp(-fast * time) + (1 - likely) / slow * np.exp(-slow * time)
    return np.where(mean > 0, np.maximum(np.where(spread > 1, hyper, gamma), 0.0), 0.0)


def quantile_s(share: npt.ArrayLike, mean_s: npt.ArrayLike, cv2: npt.ArrayLike) -> Floats:
    """The time that the share (0 <= share < 1) of all times does not exceed.

    >>> round(float(quantile_s(0.5, 1.0, 1.0)), 6)  # exponential: ln 2
    0.693147
    """
    below, mean, spread = _arrays(share, mean_s, cv2)
    finite = np.where(np.isfinite(mean), mean, 1.0)
    even = np.clip(spread, EVENEST, 1.0)
    gamma = gammainccinv(1 / even, 1 - below) * even * finite
    found = np.where(spread > 1, _hyper_quantile_s(below, finite, np.maximum(spread, 1.0)), gamma)
    return np.where(np.isfinite(mean), found, np.inf)


def transform(rate: npt.ArrayLike, mean: npt.ArrayLike, cv2: npt.ArrayLike) -> Floats:
    """E[exp(−rate · T)], the Laplace-Stieltjes transform.

    >>> float(transform(1.0, 1.0, 1.0))  # exponential: 1 / (1 + 1)
    0.5
    """
    at, middle, spread = _arrays(rate, mean, cv2)
    even = np.clip(spread, EVENEST, 1.0)
    likely, fast, slow = _phases(np.ones_like(middle), np.maximum(spread, 1.0))
    with np.errstate(under="ignore"):
        gamma = np.exp(-np.log1p(at * middle * even) / even)
        hyper = likely / (1 + at * middle / fast) + (1 - likely) / (1 + at * middle / slow)
    return np.where(spread > 1, hyper, gamma)


def tail_s(mean_s: float, cv2: float) -> float:
    """Seconds over which the tail falls by a factor of about e: the slow phase, or a gamma's scale."""
    if cv2 <= 1:
        return mean_s * cv2
    return mean_s / (1 - float(np.sqrt((cv2 - 1) / (cv2 + 1))))


def _hyper_quantile_s(below: Floats, mean: Floats, cv2: Floats) -> Floats:
    # As multiples of the mean, so that a mean of 0 needs no case of its own.
    likely, fast, slow = _phases(np.ones_like(mean), cv2)
    low, high = np.zeros_like(mean), -np.log1p(-below) / slow
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        with np.errstate(under="ignore"):
            above = likely * np.exp(-fast * middle) + (1 - likely) * np.exp(-slow * middle) > 1 - below
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2 * mean


def _phases(mean: Floats, cv2: Floats) -> tuple[Floats, Floats, Floats]:
    """Probability of the fast phase, and the rates of both: each brings half of the mean."""
    likely = (1 + np.sqrt((cv2 - 1) / (cv2 + 1))) / 2
    return likely, 2 * likely / mean, 2 * (1 - likely) / mean


def _arrays(*values: npt.ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in values)))
