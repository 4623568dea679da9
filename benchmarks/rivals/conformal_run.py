"""Conformal quantiles of a rival that gives quantiles of peaks: they are moved by their past errors.

The method is adaptive conformal, as for ours (forecasting/calibration.py). Split conformal, by the rank of past errors,
was tried for the boosted rival: its coverage was nearer to .95, but the loss of its p95 was larger.
"""

from collections.abc import Sequence

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import known_peaks_per_s
from forecasting.calibration import calibration
from forecasting.forecast import QUANTILES
from forecasting.prequential import Predicted


def conformal(
    predicted: Sequence[Predicted], candidate: str, series: ArrivalSeries, told_from: int, horizons_s: Sequence[int]
) -> list[Predicted]:
    """The only candidate's peaks from an origin on, each calibrated by earlier ones whose peaks were over by then.

    candidate: its new name.
    """
    if not predicted:
        return []
    steps = np.array([horizon_s // series.window_s for horizon_s in horizons_s])
    origins = np.array([one.origin for one in predicted])
    peaks = np.stack([next(iter(one.peak_per_s.values())) for one in predicted])
    actual = known_peaks_per_s(series, origins.tolist(), steps.tolist())
    told = []
    for row, one in enumerate(predicted):
        if one.origin >= told_from:
            came = np.where(origins[:row, None] + steps <= one.origin, actual[:row], np.nan)
            calibrated = calibration(peaks[:row], came, QUANTILES).applied(peaks[row])
            told.append(Predicted(one.origin, {candidate: calibrated}, {}, ()))
    return told
