"""Forecasts of the peak itself, as points, by MSTL and AutoETS; split conformal makes quantiles of them.

A horizon of n windows makes a series of peaks: the largest count of each n windows, counted back from the origin. Its
next value is the peak within the horizon. Conformal intervals come from the errors of the points that the same rival
gave at earlier origins, of those whose peaks were over: what statsforecast's ConformalIntervals has from refits at each
origin anew, without asking the model again.
"""

import math
from collections.abc import Sequence

import numpy as np

DAY_S = 86400
LEAST_KNOWN = 0.8
FEWEST_PEAKS = 12
MOST_ABOVE = 3.0
"""In logarithms, above all that ever came: a trend that runs away is cut off at 20 times as much."""


def peaks_of_series(counts: np.ndarray, steps: int) -> np.ndarray:
    """The largest count of each `steps` windows before the end, oldest first; what is left over is the oldest."""
    blocks = counts.size // steps
    if not blocks:
        raise ValueError("less history than the horizon")
    return np.asarray(counts[counts.size - blocks * steps :].reshape(blocks, steps).max(axis=1))


def seasons_of(blocks: int, steps: int, window_s: int) -> list[int]:
    """A day and a week in blocks, where they have more than one and the history has two of them."""
    lengths = [days * DAY_S // (steps * window_s) for days in (1, 7)]
    return [length for length in lengths if length > 1 and blocks >= 2 * length]


def next_peak(peaks: np.ndarray, steps: int, window_s: int) -> float:
    """The value that follows a series of peaks: of MSTL with AutoETS on its trend, of AutoETS where no season fits, the
    last one where they are too few for either.

    On the log scale: a peak is not negative, and errors are in proportion to it.
    """
    from statsforecast.models import MSTL, AutoETS

    if peaks.size < FEWEST_PEAKS:
        return float(peaks[-1])

    logs = np.log1p(peaks)
    seasons = seasons_of(peaks.size, steps, window_s)
    model = trend = AutoETS(model="ZZN")
    if seasons:
        jump = max(1, seasons[0] // 10)
        keywords = {"trend_jump": jump, "low_pass_jump": jump}
        model = MSTL(season_length=seasons, trend_forecaster=trend, stl_kwargs=keywords)
    return float(np.expm1(np.clip(model.forecast(y=logs, h=1)["mean"][0], 0.0, logs.max() + MOST_ABOVE)))


def conformal_peaks(
    points: np.ndarray,
    counts: np.ndarray,
    origins: Sequence[int],
    horizon_steps: Sequence[int],
    quantiles: Sequence[float],
) -> np.ndarray:
    """Quantiles of the peaks at each origin from the errors at those before it, shape (origins, horizons, quantiles).

    points: shape (origins, horizons), in order of time. counts: of every window, NaN where missing. NaN where no peak
    was over yet.
    """
    made = np.full((*points.shape, len(quantiles)), np.nan)
    logs = np.log1p(points)
    for horizon, steps in enumerate(horizon_steps):
        came = np.array([known_peak(counts[origin : origin + steps], steps) for origin in origins])
        errors = np.log1p(came) - logs[:, horizon]
        for row, origin in enumerate(origins):
            over = np.array([before + steps <= origin for before in origins[:row]], bool)
            made[row, horizon] = np.expm1(logs[row, horizon] + error_quantiles(errors[:row][over], quantiles))
    return np.maximum.accumulate(np.maximum(made, 0.0), axis=1)


def known_peak(counts: np.ndarray, steps: int) -> float:
    """The largest count, NaN where less than LEAST_KNOWN of the windows were observed."""
    known = np.isfinite(counts)
    return float(counts[known].max()) if known.sum() >= LEAST_KNOWN * steps else np.nan


def error_quantiles(errors: np.ndarray, quantiles: Sequence[float]) -> np.ndarray:
    """Split conformal: the p-quantile of n errors is the ⌈(n + 1) p⌉-th, the largest where there are too few of them.

    NaN without any.
    """
    known = np.sort(errors[np.isfinite(errors)])
    if not known.size:
        return np.full(len(quantiles), np.nan)
    ranks = [min(math.ceil((known.size + 1) * quantile), known.size) - 1 for quantile in quantiles]
    return np.asarray(known[ranks])
