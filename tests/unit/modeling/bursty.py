"""Arrivals whose rate goes up and down between two levels."""

import numpy as np

from modeling.queueing.bursts import Bursts


def arrivals_s(rng: np.random.Generator, bursts: Bursts, rate_per_s: float, count: int) -> np.ndarray:
    """Poisson arrivals at each level; in the clock that runs as fast as the rate they are even."""
    clock = np.cumsum(rng.standard_exponential(count)) / rate_per_s
    spells = int(clock[-1] / bursts.mean_s * bursts.share * 2) + 100
    lengths = np.stack(
        [rng.exponential(s, spells) for s in (bursts.mean_s, bursts.mean_s * (1 / bursts.share - 1))], axis=1
    ).ravel()
    levels = np.tile([bursts.factor, bursts.levels.pause_factor], spells)
    return np.interp(clock, np.cumsum(lengths * levels), np.cumsum(lengths))
