"""Calibration of peak quantiles: adaptive conformal, one quantile and horizon at a time, on the log scale.

After every peak that came the offset of a quantile p rises by a step times p where the peak lay above it, and falls by
a step times 1 - p where it did not: in the long run a share p of the peaks stays below, whatever the forecaster does
(Gibbs and Candès 2021; quantile tracking of Angelopoulos, Candès and Tibshirani 2023). Offsets are counted in spreads,
which is how far apart the forecast's own quantiles lie, so that they mean the same for calm and for wild series, and
for one series that grows calm or wild.

The offset begins at none. Split conformal, which takes the quantile of all past ratios, needs hundreds of peaks for a
p99: with the forty that there are it takes the worst that ever happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Floats

STEP = 0.05
LEAST_SPREAD = 0.05
"""Of the quantiles of a forecast, as a log ratio: one that sees no risk at all can be moved, too."""
_EXACT = 1e-9
LEAST_FLOOR_PER_S = 1e-9
"""One event in thirty years."""
LARGEST_OFFSET = 1.1
"""Three times up or down (log 3): beyond it the forecaster is not miscalibrated but wrong."""


@dataclass(frozen=True)
class Calibration:
    """offsets: in spreads of the forecast, shape (horizons, quantiles). floor_per_s: ratios mean nothing below it.

    quantiles: of the forecasts, p50 and p95 among them.
    """

    offsets: Floats
    floor_per_s: float
    quantiles: tuple[float, ...]

    def applied(self, peaks_per_s: Floats) -> Floats:
        """Calibrated peak quantiles, never negative, never crossing; shape (…, horizons, quantiles) as given.

        A peak of zero stays zero: closed hours are not a matter of degree.
        """
        spread = spreads(np.log(peaks_per_s + self.floor_per_s), self.quantiles)
        moved = np.exp(np.clip(self.offsets * spread[..., None], -LARGEST_OFFSET, LARGEST_OFFSET))
        return ordered(np.where(peaks_per_s > 0, peaks_per_s * moved, 0.0))


def spreads(log_peaks: Floats, quantiles: Sequence[float]) -> Floats:
    """How far p95 lies above p50, at least LEAST_SPREAD; shape (…), of quantiles on the last axis."""
    levels = np.asarray(quantiles)
    upper, middle = (log_peaks[..., np.abs(levels - level).argmin()] for level in (0.95, 0.5))
    return np.maximum(upper - middle, LEAST_SPREAD)


def ordered(peaks_per_s: Floats) -> Floats:
    """Peak quantiles that rise with the quantile (last axis) and with the horizon (the one before it)."""
    return np.maximum.accumulate(np.maximum.accumulate(peaks_per_s, axis=-1), axis=-2)


def calibration(
    peaks_per_s: Floats, actual_per_s: Floats, quantiles: Sequence[float], floor: float | None = None
) -> Calibration:
    """What the peaks that came say of the quantiles that were forecast.

    peaks_per_s: shape (origins, horizons, quantiles), in order of time; actual_per_s: shape (origins, horizons); NaN
    where not known. floor: events per second, None for what the peaks say. Origins at which nothing came and nothing
    was forecast say nothing of ratios and are left out.
    """
    floor = floor_per_s(actual_per_s) if floor is None else floor
    levels = np.asarray(quantiles)
    offsets = np.zeros((actual_per_s.shape[1], len(quantiles)))
    said = np.log(peaks_per_s + floor)
    ratios = np.log(actual_per_s[:, :, None] + floor) - said
    telling = np.isfinite(ratios).all(axis=2) & ((actual_per_s > 0) | (peaks_per_s.max(axis=2) > 0))
    rows = telling.any(axis=1)
    telling, said, ratios = telling[rows, :, None], said[rows], ratios[rows]
    spread = spreads(np.where(telling, said, 0.0), quantiles)[:, :, None]
    steps = STEP * telling
    for step, ratio, exact in zip(steps, np.where(telling, ratios, 0.0) / spread, _EXACT / spread, strict=True):
        # What came exactly as forecast says neither.
        below = (ratio < offsets - exact).astype(float)
        offsets += step * np.where(ratio > offsets + exact, levels, (levels - 1) * below)
    # Offsets of their own may make quantiles cross; `applied` puts them in order.
    return Calibration(offsets, floor, tuple(quantiles))


def floor_per_s(actual_per_s: Floats) -> float:
    """A hundredth of the median peak that was not zero: keeps ratios of near-nothings from mattering."""
    positive = actual_per_s[np.isfinite(actual_per_s) & (actual_per_s > 0)]
    return max(float(np.median(positive)) / 100, LEAST_FLOOR_PER_S) if positive.size else 1.0
