"""Calibration of peak quantiles: by what factor past peaks exceeded their forecast (split conformal, log scale).

The offset of a quantile p is the p-quantile of the past log ratios actual / forecast: had it been applied, a share p
of the past peaks would have stayed below. One horizon has few origins, so the other horizons help, and with few
origins altogether the offset is drawn towards none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

OTHER_HORIZONS = 0.5
"""Weight of an origin's ratio at another horizon; at its own it is 1."""
STEADYING_ORIGINS = 12.0
LEAST_FLOOR_PER_S = 1e-9
"""One event in thirty years."""
LARGEST_OFFSET = 1.1
"""Three times up or down (log 3): beyond it the forecaster is not miscalibrated but wrong."""


@dataclass(frozen=True)
class Calibration:
    """log_offsets: shape (horizons, quantiles). floor_per_s: rate below which ratios mean nothing."""

    log_offsets: Floats
    floor_per_s: float

    def applied(self, peaks_per_s: Floats) -> Floats:
        """Calibrated peak quantiles, never negative, never crossing; shape (…, horizons, quantiles) as given.

        A peak of zero stays zero: closed hours are not a matter of degree.
        """
        moved = np.where(peaks_per_s > 0, peaks_per_s * np.exp(self.log_offsets), 0.0)
        return ordered(moved)


def ordered(peaks_per_s: Floats) -> Floats:
    """Peak quantiles that rise with the quantile (last axis) and with the horizon (the one before it)."""
    return np.maximum.accumulate(np.maximum.accumulate(peaks_per_s, axis=-1), axis=-2)


def calibration(peaks_per_s: Floats, actual_per_s: Floats, quantiles: Sequence[float]) -> Calibration:
    """What the backtest says of the peak quantiles.

    peaks_per_s: shape (origins, horizons, quantiles); actual_per_s: shape (origins, horizons); NaN where not known.
    Origins at which nothing came and nothing was forecast say nothing of ratios and are left out.
    """
    floor = floor_per_s(actual_per_s)
    horizons = actual_per_s.shape[1] if actual_per_s.ndim == 2 else 0
    offsets = np.zeros((horizons, len(quantiles)))
    ratios = np.log(actual_per_s[:, :, None] + floor) - np.log(peaks_per_s + floor)
    telling = np.isfinite(ratios).all(axis=2) & ((actual_per_s > 0) | (peaks_per_s.max(axis=2) > 0))
    for horizon in range(horizons):
        weights = np.where(np.arange(horizons) == horizon, 1.0, OTHER_HORIZONS) * telling
        origins = float(telling.any(axis=1).sum())
        trust = origins / (origins + STEADYING_ORIGINS)
        for number, quantile in enumerate(quantiles):
            offsets[horizon, number] = trust * _weighted_quantile(
                ratios[:, :, number][telling], weights[telling], quantile
            )
    # Offsets of their own may make quantiles cross; `applied` puts them in order.
    return Calibration(np.clip(offsets, -LARGEST_OFFSET, LARGEST_OFFSET), floor)


def floor_per_s(actual_per_s: Floats) -> float:
    """A hundredth of the median peak that was not zero: keeps ratios of near-nothings from mattering."""
    positive = actual_per_s[np.isfinite(actual_per_s) & (actual_per_s > 0)]
    return max(float(np.median(positive)) / 100, LEAST_FLOOR_PER_S) if positive.size else 1.0


def _weighted_quantile(values: Floats, weights: Floats, quantile: float) -> float:
    """The value below which a share `quantile` of the weight lies, with the conformal correction for few values.

    Few values cannot tell a high quantile: where the corrected share exceeds 1, the offset of the highest one they
    can tell is taken, which is their maximum for upper quantiles.
    """
    if values.size == 0:
        return 0.0
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    wanted = quantile * (1 + 1 / weights.sum()) if quantile > 0.5 else quantile
    at = int(np.searchsorted(share, min(wanted, 1.0) - 1e-12))
    return float(values[order][min(at, values.size - 1)])
