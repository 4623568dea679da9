"""Arrivals whose rate goes up and down between two levels."""

import numpy as np

from modeling.queueing.bursts import Bursts


def arrivals_s(rng: np.random.Generator, bursts: Bursts, rate_per_s: float, count: int) -> np.ndarray:
    """Poisson arrivals at each level; in the clock that runs as fast as the rate they are even."""
    clock = np.cumsum(rng.standard_exponential(count)) / rate_per_s
    times, passed = _clock(rng, bursts, clock[-1])
    return np.interp(clock, passed, times)


def window_counts(
    rng: np.random.Generator, bursts: Bursts, rate_per_s: float, window_s: float, windows: int
) -> np.ndarray:
    """Of such arrivals, without making each of them."""
    edges = np.arange(windows + 1) * window_s
    times, passed = _clock(rng, bursts, edges[-1])
    return rng.poisson(rate_per_s * np.diff(np.interp(edges, times, passed))).astype(float)


def _clock(rng: np.random.Generator, bursts: Bursts, until_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the spells, and how far the clock that runs as fast as the rate is then."""
    spells = int(until_s / bursts.mean_s * bursts.share * 2) + 100
    lengths = np.stack(
        [rng.exponential(s, spells) for s in (bursts.mean_s, bursts.mean_s * (1 / bursts.share - 1))], axis=1
    ).ravel()
    levels = np.tile([bursts.factor, bursts.levels.pause_factor], spells)
    return np.cumsum(lengths), np.cumsum(lengths * levels)
