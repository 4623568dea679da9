"""Calibration of peak quantiles: adaptive conformal, one quantile and horizon at a time, on the log scale.

After every peak the offset of quantile p rises by a step times p if the peak exceeded it, and falls by a step times 1 -
p if not: in the long run a share p of the peaks stays below, whatever the forecaster does (Gibbs and Candès 2021;
quantile tracking of Angelopoulos, Candès and Tibshirani 2023). Offsets are in units of spread, the distance between the
forecast's own quantiles, so that they mean the same for calm and volatile series, and for a series that changes between
both.

Offsets start at zero. Split conformal, which uses the quantile of all past ratios, needs hundreds of peaks for a p99;
with the forty available it would use the worst one ever seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Floats
from forecasting.peaks import EXACT

STEP = 0.05
MIN_SPREAD = 0.05
"""Minimum spread of a forecast's quantiles, as a log ratio, so that a forecast without any spread can be moved, too."""
MIN_FLOOR_PER_S = 1e-9
"""One event in thirty years."""
MAX_OFFSET = 1.1
"""A factor of three up or down (log 3): beyond it the forecaster is not miscalibrated but wrong."""


@dataclass(frozen=True)
class Calibration:
    """offsets: in units of the forecast's spread, shape (horizons, quantiles). floor_per_s: below it ratios are
    meaningless. quantiles: of the forecasts, including p50 and p95.
    """

    offsets: Floats
    floor_per_s: float
    quantiles: tuple[float, ...]

    def applied(self, peaks_per_s: Floats) -> Floats:
        """Calibrated peak quantiles, never negative, never crossing; shape (…, horizons, quantiles) as given.

        A peak of zero stays zero: closed hours stay closed.
        """
        spread = spreads(np.log(peaks_per_s + self.floor_per_s), self.quantiles)
        moved = np.exp(np.clip(self.offsets * spread[..., None], -MAX_OFFSET, MAX_OFFSET))
        return ordered(np.where(peaks_per_s > 0, peaks_per_s * moved, 0.0))


def spreads(log_peaks: Floats, quantiles: Sequence[float]) -> Floats:
    """Log distance from p50 to p95, at least MIN_SPREAD; shape (…), for quantiles on the last axis."""
    levels = np.asarray(quantiles)
    upper, middle = (log_peaks[..., np.abs(levels - level).argmin()] for level in (0.95, 0.5))
    return np.maximum(upper - middle, MIN_SPREAD)


def ordered(peaks_per_s: Floats) -> Floats:
    """Peak quantiles made non-decreasing in the quantile (last axis) and the horizon (the axis before it)."""
    return np.maximum.accumulate(np.maximum.accumulate(peaks_per_s, axis=-1), axis=-2)


def calibration(
    peaks_per_s: Floats, actual_per_s: Floats, quantiles: Sequence[float], floor: float | None = None
) -> Calibration:
    """The calibration learnt from forecast quantiles and actual peaks.

    peaks_per_s: shape (origins, horizons, quantiles), in order of time; actual_per_s: shape (origins, horizons); NaN
    where not known. floor: events per second, None to derive it from the peaks. Origins without arrivals and without
    forecast arrivals have no ratio and are left out.
    """
    floor = floor_per_s(actual_per_s) if floor is None else floor
    levels = np.asarray(quantiles)
    offsets = np.zeros((actual_per_s.shape[1], len(quantiles)))
    log_peaks = np.log(peaks_per_s + floor)
    ratios = np.log(actual_per_s[:, :, None] + floor) - log_peaks
    informative = np.isfinite(ratios).all(axis=2) & ((actual_per_s > 0) | (peaks_per_s.max(axis=2) > 0))
    rows = informative.any(axis=1)
    informative, log_peaks, ratios = informative[rows, :, None], log_peaks[rows], ratios[rows]
    spread = spreads(np.where(informative, log_peaks, 0.0), quantiles)[:, :, None]
    steps = STEP * informative
    for step, ratio, exact in zip(steps, np.where(informative, ratios, 0.0) / spread, EXACT / spread, strict=True):
        # A peak exactly as forecast counts as neither above nor below.
        below = (ratio < offsets - exact).astype(float)
        offsets += step * np.where(ratio > offsets + exact, levels, (levels - 1) * below)
    # Independent offsets may make quantiles cross; `applied` orders them.
    return Calibration(offsets, floor, tuple(quantiles))


def floor_per_s(actual_per_s: Floats) -> float:
    """A hundredth of the median nonzero peak, so that ratios of tiny peaks do not matter."""
    positive = actual_per_s[np.isfinite(actual_per_s) & (actual_per_s > 0)]
    return max(float(np.median(positive)) / 100, MIN_FLOOR_PER_S) if positive.size else 1.0
