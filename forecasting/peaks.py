"""The peak: the largest rate within a horizon, its quantiles from joint paths, and the loss of a forecast of it."""

from collections.abc import Sequence

import numpy as np

from forecasting.arrays import Flags, Floats

EXACT = 1e-9
"""Relative difference below which a peak is exactly as forecast: what rounding leaves of a constant load."""


def peak_quantiles_per_s(paths_per_s: Floats, horizon_steps: Sequence[int], quantiles: Sequence[float]) -> Floats:
    """Quantiles of the largest rate within each horizon, shape (horizons, quantiles).

    paths_per_s: joint sample paths, shape (paths, steps), finite; horizon_steps: ascending. This is the quantile of the
    maxima, not the maximum of the pointwise quantiles, which is far lower. Longer horizons and higher quantiles never
    give less.
    """
    begins = [0, *horizon_steps[:-1]]
    between = np.maximum.reduceat(paths_per_s[:, : horizon_steps[-1]], begins, axis=1)
    return path_quantiles(np.maximum.accumulate(between, axis=1), quantiles)


def path_quantiles(values: Floats, quantiles: Sequence[float]) -> Floats:
    """Quantiles over the paths, shape (columns, quantiles), of finite values of shape (paths, columns).

    Bitwise equal to np.quantile in a third of its time: it partitions columns, this sorts rows.
    """
    ordered = np.array(values.T, dtype=np.float64, order="C")
    ordered.sort(axis=-1)
    at = (values.shape[0] - 1) * np.asarray(quantiles, dtype=np.float64)
    below = at.astype(np.int64)
    share = at - below
    low, high = ordered[:, below], ordered[:, np.minimum(below + 1, values.shape[0] - 1)]
    apart = high - low
    # Interpolate from the nearer value, as NumPy does; otherwise the last bits differ.
    return np.asarray(np.where(share >= 0.5, high - apart * (1 - share), low + apart * share))


def actual_peak_per_s(rates_per_s: Floats, most_missing: float = 0.2) -> float:
    """The largest observed rate; NaN if more than the share most_missing was not observed.

    rates_per_s: shape (steps,), NaN where missing.
    """
    known = np.isfinite(rates_per_s)
    if rates_per_s.size == 0 or known.mean() < 1 - most_missing:
        return float("nan")
    return float(rates_per_s[known].max())


def exceeds(actual: Floats, forecast: Floats) -> Flags:
    """Whether peaks lie above their forecasts by more than rounding; False where either is NaN."""
    return np.asarray(actual > forecast * (1 + EXACT), dtype=np.bool_)


def pinball(actual: Floats | float, forecast: Floats, quantiles: Floats | float) -> Floats:
    """Pinball loss in the unit of what is forecast: quantile × shortfall, or (1 - quantile) × excess.

    Shapes broadcast. At quantile 0.95 each unit too low costs 19 times as much as each unit too high.
    """
    off = actual - forecast
    off = np.where(np.abs(off) <= EXACT * np.abs(forecast), 0.0, off)
    return np.asarray(np.maximum(quantiles * off, (quantiles - 1) * off), dtype=np.float64)
