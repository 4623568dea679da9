"""Variability of arrivals within the steps of a load, estimated from counts of short windows.

The load of a step is its mean, but queues respond to the rate within it. Counts of the step's windows show the variance
and time scale of the rate (the index of dispersion over one window, two, and so on; Fendick and Whitt 1989), and their
skewness whether it is rarely far above the mean or often slightly.
"""

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.queueing.bursts import Arrivals, Bursts

MIN_WINDOWS = 30
"""Minimum number of counts for a conclusion."""

_MEMORIES = 48
"""Number of candidates for the duration of a rate."""

SHORTEST = 1 / 16
"""Fraction of a window below which the duration of a rate cannot be estimated: neighbouring windows look unrelated."""

MAX_WINDOW_S = 600.0
"""In longer windows the daily pattern cannot be distinguished from bursts."""

_STEP_S, _WINDOWS, _MIN_STEPS = 720.0, (12, 72), 20
"""Length of a step in which the daily pattern is a smooth curve; its minimum and maximum number of windows; and the
minimum number of such steps.
"""

_STEEP = 0.05
"""Relative change between a step's halves that no curve fits."""

_SURE = 3.0
"""Standard errors by which the variance must exceed Poisson's before bursts are concluded."""


def dispersion_of_history(counts: npt.ArrayLike, window_s: float) -> Arrivals | None:
    """Variability of arrivals from counts of consecutive windows, oldest first, NaN if unknown; None if windows are too
    few or too long.

    Times at which the load rises or falls steeply on most days are left out: that is not a burst. Arrivals more even
    than Poisson over windows are taken as Poisson, since they need not be even within windows.
    """
    counted = np.asarray(counts, dtype=float)
    if window_s > MAX_WINDOW_S:
        return None
    day, windows = int(86400 // window_s), 2 * int(np.clip(_STEP_S / window_s, *_WINDOWS) // 2)
    days = np.concatenate([np.full(-counted.size % day, np.nan), counted]).reshape(-1, day)
    steps = days[:, : day // windows * windows].reshape(len(days), -1, windows)
    steps = np.where(steps.sum(axis=2, keepdims=True) > 0, steps, np.nan)
    change = 2 * steps[:, :, windows // 2 :].sum(axis=2) / steps.sum(axis=2) - 1
    known = np.isfinite(change)
    number = np.maximum(known.sum(axis=0), 1)
    usual = np.where(known, change, 0.0).sum(axis=0) / number
    spread = np.where(known, change - usual, 0.0).std(axis=0)
    steep = (number > 2) & (np.abs(usual) > np.maximum(_STEEP, _SURE * spread / np.sqrt(number)))
    kept = steps[:, ~steep].reshape(-1, windows)
    if np.isfinite(kept).all(axis=1).sum() < _MIN_STEPS:
        return None
    found = dispersion_of(kept, window_s)
    return Arrivals() if found.bursts is None else found


def dispersion_of(counts: npt.ArrayLike, window_s: float) -> Arrivals:
    """Variability of arrivals within steps, from counts of shape (steps, windows per step); NaN if unknown.

    A step's mean is removed, as well as its trend from 5 windows on and its curve from 10 on. Steps with an unknown
    window or without arrivals are left out; fewer than MIN_WINDOWS counts, or steps of one window, give Poisson
    arrivals. If counts of neighbouring windows are unrelated, only variance · memory is known, and the rate is assumed
    to be on half of the time and off the other half; arrivals at each rate are Poisson.
    Raises ModelError for negative counts or another shape, and for a window that is not above 0.
    """
    counted = np.asarray(counts, dtype=float)
    if counted.ndim != 2 or (counted < 0).any() or not 0 < window_s < np.inf:
        raise ModelError(
            f"counts of shape {counted.shape} over windows of {window_s} s: give steps of windows, with counts not "
            "below 0 and a window above 0 s"
        )
    counted = counted[np.isfinite(counted).all(axis=1)]
    counted = counted[counted.sum(axis=1) > 0]
    steps, windows = counted.shape
    if counted.size < MIN_WINDOWS or windows < 2:
        return Arrivals()
    means = counted.mean(axis=1)
    # Use the overall mean: relative to its own mean, a step between bursts would vary most.
    scale = np.maximum(means, means.mean())
    square, cube = (float(((means / scale) ** power).mean()) for power in (2, 3))
    smooth = np.linalg.qr(np.vander(np.linspace(-1, 1, windows), min(2, windows // 5) + 1))[0]
    left_out = np.eye(windows) - smooth @ smooth.T
    deviations = counted @ left_out / scale[:, None]
    # Relative variance of a Poisson process's counts.
    poisson = float((means / scale**2).mean()) / square
    freedom = windows - smooth.shape[1]
    lags = min(windows - 1, 24)
    products = np.array([(deviations[:, lag:] * deviations[:, : windows - lag]).mean() for lag in range(lags + 1)])
    products /= square
    seen = float(products[0]) * windows / freedom
    error = poisson * np.sqrt(2 / (steps * freedom))
    if seen <= poisson + _SURE * error:
        return Arrivals(min(1.0, seen / poisson) if seen < poisson - _SURE * error else 1.0)
    noise = (_SURE * float(products[0])) ** 2 / deviations.size
    variance, memory_s = _rate_variance(products, poisson, left_out, window_s, noise)
    if memory_s <= SHORTEST * window_s:
        known_s = (_over_neighbours(products, left_out) - poisson) * window_s / 2
        if known_s <= _SURE * error * window_s:
            return Arrivals()
        memory_s = min(known_s, memory_s)
        return Arrivals(bursts=_two_levels(known_s / memory_s, memory_s, 0.0))
    third = float((deviations**3).mean()) / max((left_out**3).sum(axis=1).mean(), 0.1) / cube
    rate_third = third - 3 * poisson * (seen - poisson) - float((means / scale**3).mean()) / cube
    return Arrivals(bursts=_two_levels(variance, memory_s, rate_third / (seen - poisson) ** 1.5))


def _over_neighbours(products: Floats, left_out: Floats) -> float:
    """Variance of counts plus covariance of neighbours: if windows were cut at other times, an excess in one is missing
    in the next.
    """
    near = np.eye(len(left_out), k=1)
    expected = [
        [np.diagonal(each, lag).mean() for each in (left_out, left_out @ (near + near.T) @ left_out)] for lag in (0, 1)
    ]
    alone, shared = (
        np.linalg.lstsq(np.array(expected), products[:2])[0] if len(left_out) > 2 else (products[0] * 2, 0.0)
    )
    return float(alone + 2 * shared)


def _rate_variance(
    products: Floats, poisson: float, left_out: Floats, window_s: float, noise: float
) -> tuple[float, float]:
    """Variance and memory in seconds of the rate that best explain the products of deviations at each lag; the shortest
    memory if longer ones explain no more than noise.
    """
    windows = left_out.shape[0]
    found: list[tuple[float, float, float]] = []
    lags = np.abs(np.subtract.outer(np.arange(windows), np.arange(windows)))
    # Weights: number of products per lag.
    weight = 1 - np.arange(products.size) / windows
    for memory_s in np.geomspace(window_s * SHORTEST, window_s * windows / 2, _MEMORIES):
        span = window_s / memory_s
        with np.errstate(under="ignore"):
            later = (np.expm1(-span) / span) ** 2 * np.exp(-(lags - 1) * span)
        together = np.where(lags == 0, 2 * (span + np.expm1(-span)) / span**2, later)
        # Deviations are residuals of a smooth step, so expected ones are computed likewise.
        rate, alone = (
            np.array([np.diagonal(each, k).mean() for k in range(products.size)])
            for each in (left_out @ together @ left_out, poisson * left_out)
        )
        left = products - alone
        variance = max(0.0, float(weight * rate @ left) / float(weight * rate @ rate))
        found.append((float((weight * (left - variance * rate) ** 2).sum()), variance, float(memory_s)))
    best = min(found)
    return found[0][1:] if found[0][0] <= best[0] + noise else best[1:]


def _two_levels(variance: float, memory_s: float, skewness: float) -> Bursts | None:
    """The two levels of a rate with this variance (over its squared mean), skewness and memory."""
    if variance <= 0:
        return None
    share = (1 - skewness / np.sqrt(4 + skewness**2)) / 2
    # The rate between bursts cannot be negative.
    share = float(np.clip(share, 1e-3, min(1 / (1 + variance), 0.999)))
    factor = min(1 + np.sqrt(variance * (1 - share) / share), 1 / share)
    return Bursts(share, float(factor), float(memory_s / (1 - share)))
