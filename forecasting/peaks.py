"""The peak: the largest rate within a horizon, its quantiles from joint paths, and the loss of a forecast of it."""

from collections.abc import Sequence

import numpy as np

from forecasting.arrays import Floats


def peak_quantiles_per_s(paths_per_s: Floats, horizon_steps: Sequence[int], quantiles: Sequence[float]) -> Floats:
    """Quantiles of the largest rate within each horizon, shape (horizons, quantiles).

    paths_per_s: joint sample paths, shape (paths, steps). The quantile of the maxima is taken, not the maximum of the
    pointwise quantiles, which lies far below it. Longer horizons and higher quantiles never give less.
    """
    running = np.maximum.accumulate(paths_per_s, axis=1)
    ends = np.asarray(horizon_steps, dtype=np.int64) - 1
    return np.asarray(np.quantile(running[:, ends], quantiles, axis=0).T, dtype=np.float64)


def actual_peak_per_s(rates_per_s: Floats, most_missing: float = 0.2) -> float:
    """The largest observed rate, NaN where more than a share of most_missing was not observed.

    rates_per_s: shape (steps,), NaN where missing.
    """
    known = np.isfinite(rates_per_s)
    if rates_per_s.size == 0 or known.mean() < 1 - most_missing:
        return float("nan")
    return float(rates_per_s[known].max())


def pinball(actual: Floats | float, forecast: Floats, quantiles: Floats | float) -> Floats:
    """Pinball loss in the unit of what is forecast: quantile × shortfall, or (1 - quantile) × excess.

    Shapes broadcast. A quantile of 0.95 pays 19 times as much for each unit too low as for each too high.
    """
    off = actual - forecast
    return np.asarray(np.maximum(quantiles * off, (quantiles - 1) * off), dtype=np.float64)
