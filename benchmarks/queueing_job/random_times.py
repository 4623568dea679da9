"""Gaps and services of a given variation, and Lindley's recursion over them."""

from collections.abc import Callable

import numpy as np

from modeling.arrays import Floats

Draw = Callable[[np.random.Generator, float, tuple[int, ...]], Floats]


def two_phase(rng: np.random.Generator, cv2: float, shape: tuple[int, ...]) -> Floats:
    """Times of mean 1: Erlang up to cv² 1, hyper-exponential with balanced means above."""
    if cv2 <= 1:
        return rng.standard_gamma(1 / cv2, shape) * cv2
    fast = (1 + np.sqrt((cv2 - 1) / (cv2 + 1))) / 2
    means = np.where(rng.random(shape) < fast, 1 / (2 * fast), 1 / (2 * (1 - fast)))
    return rng.standard_exponential(shape) * means


def log_normal(rng: np.random.Generator, cv2: float, shape: tuple[int, ...]) -> Floats:
    """Log-normal times of mean 1."""
    variance = np.log1p(cv2)
    return rng.lognormal(-variance / 2, np.sqrt(variance), shape)


def departures_s(arrivals_s: Floats, services_s: Floats) -> Floats:
    """Departure times from one server in order of arrival (Lindley's recursion), along the first axis."""
    worked = np.cumsum(services_s, axis=0)
    return np.asarray(worked + np.maximum.accumulate(arrivals_s - worked + services_s, axis=0))
