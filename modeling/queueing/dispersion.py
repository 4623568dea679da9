"""How arrivals vary within the steps that loads are told of, read off counts of short windows.

The load of a step is a mean over it; what the rate does within the step, queues feel. Counts of the step's windows tell
how much the rate varies and over which time (the index of dispersion over one window, two, and so on; Fendick and Whitt
1989), and their skewness tells whether it is seldom far above the mean or often a little.
"""

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.queueing.bursts import Arrivals, Bursts

Floats = npt.NDArray[np.float64]

FEWEST_WINDOWS = 30
"""Counts below which nothing is concluded."""

_MEMORIES = 48
"""Candidates for how long a rate lasts."""

_SURE = 3.0
"""Standard errors by which counts must vary more than Poisson ones before bursts are concluded."""


def dispersion_of(counts: npt.ArrayLike, window_s: float) -> Arrivals:
    """Variability of arrivals within steps, from counts of shape (steps, windows in a step); NaN where one is unknown.

    Steps with an unknown window or without arrivals are left out; of fewer than FEWEST_WINDOWS counts, or of steps of
    one window, nothing is concluded: Poisson arrivals. Between windows nothing is known, so within them the rate is
    taken to vary as smoothly as it does from one to the next, with Poisson arrivals at each rate.
    Raises ModelError for counts that are negative or of another shape, and for a window that is not above 0.
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
    if counted.size < FEWEST_WINDOWS or windows < 2:
        return Arrivals()
    means = counted.mean(axis=1)
    deviations = counted / means[:, None] - 1
    # What counts of a Poisson process would vary by, relative to their mean.
    poisson = float((1 / means).mean())
    seen = float((deviations**2).sum() / (steps * (windows - 1)))
    error = poisson * np.sqrt(2 / (steps * (windows - 1)))
    if seen <= poisson + _SURE * error:
        return Arrivals(min(1.0, seen / poisson) if seen < poisson - _SURE * error else 1.0)
    lags = min(windows - 1, 24)
    products = np.array([(deviations[:, lag:] * deviations[:, : windows - lag]).mean() for lag in range(lags + 1)])
    variance, memory_s = _rate_variance(products, poisson, windows, window_s)
    third = float((deviations**3).mean()) / max((1 - 1 / windows) * (1 - 2 / windows), 0.1)
    rate_third = third - 3 * poisson * (seen - poisson) - float((1 / means**2).mean())
    return Arrivals(bursts=_two_levels(variance, memory_s, rate_third / (seen - poisson) ** 1.5))


def _rate_variance(products: Floats, poisson: float, windows: int, window_s: float) -> tuple[float, float]:
    """Variance of the rate and seconds of its memory that explain products of deviations at each lag best."""
    best = (np.inf, 0.0, window_s)
    centred = np.eye(windows) - 1 / windows
    lags = np.abs(np.subtract.outer(np.arange(windows), np.arange(windows)))
    chance = poisson * centred
    for memory_s in np.geomspace(window_s / 16, 16 * window_s * windows, _MEMORIES):
        span = window_s / memory_s
        with np.errstate(under="ignore"):
            later = (np.expm1(-span) / span) ** 2 * np.exp(-(lags - 1) * span)
        together = np.where(lags == 0, 2 * (span + np.expm1(-span)) / span**2, later)
        varying = centred @ together @ centred
        # Deviations are from the step's own mean, so what one expects of them is centred too.
        rate, alone = (
            np.array([np.diagonal(each, k).mean() for k in range(products.size)]) for each in (varying, chance)
        )
        left = products - alone
        variance = max(0.0, float(rate @ left) / float(rate @ rate))
        missed = float(((left - variance * rate) ** 2).sum())
        if missed < best[0]:
            best = (missed, variance, float(memory_s))
    return best[1], best[2]


def _two_levels(variance: float, memory_s: float, skewness: float) -> Bursts | None:
    """The two levels of a rate with that variance (over its mean squared), skewness and memory."""
    if variance <= 0:
        return None
    share = (1 - skewness / np.sqrt(4 + skewness**2)) / 2
    # Between bursts there are no fewer arrivals than none.
    share = float(np.clip(share, 1e-3, min(1 / (1 + variance), 0.999)))
    factor = min(1 + np.sqrt(variance * (1 - share) / share), 1 / share)
    return Bursts(share, float(factor), float(memory_s / (1 - share)))
