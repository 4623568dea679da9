"""Scores of predictions: peak losses relative to repeating the last day or week, coverage, error of the median path.

The reference is the plain seasonal naive: the previous day, or week, repeats exactly, and its largest rate is every
quantile of the peak. The better of the two, by the p95, is the bound at each horizon.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import known_peaks_per_s
from forecasting.local_time import windows_before
from forecasting.models.time_grid import DAY_S, WEEK_S
from forecasting.peaks import exceeds, pinball
from forecasting.prequential import Predicted
from forecasting.scoring import loss_ratio

SEASONS_S = {"a day ago": DAY_S, "a week ago": WEEK_S}
RATIO_QUANTILES = (0.95, 0.99)


@dataclass(frozen=True)
class PrequentialScore:
    """Score of one candidate at one horizon, over the origins with a prediction and a known peak.

    ratio_p95, ratio_p99: pinball loss of the peak's quantile over that of the better seasonal naive at the same
    origins. coverage: share of peaks below the p95. wape: sum of absolute errors of the median path over the sum of
    actual rates. NaN if unknown.
    """

    candidate: str
    horizon_s: int
    origins: int
    ratio_p95: float
    ratio_p99: float
    coverage: float
    wape: float


def prequential_scores(
    predicted: Sequence[Predicted], series: ArrivalSeries, horizons_s: Sequence[int], quantiles: Sequence[float]
) -> list[PrequentialScore]:
    """Scores of every candidate and of both seasonal naives, by horizon."""
    steps = [horizon_s // series.window_s for horizon_s in horizons_s]
    actual = known_peaks_per_s(series, [one.origin for one in predicted], steps)
    rates_per_s = series.rate_per_s()
    peaks_by_name = {
        name: np.stack([one.peak_per_s.get(name, np.full((len(steps), len(quantiles)), np.nan)) for one in predicted])
        for name in dict.fromkeys(name for one in predicted for name in one.peak_per_s)
    }
    medians = {
        name: [one.rate_per_s[name][:, _median(quantiles)] if name in one.rate_per_s else None for one in predicted]
        for name in peaks_by_name
    }
    for name, season_s in SEASONS_S.items():
        again = [_again(series, one.origin, season_s, max(steps)) for one in predicted]
        medians[name] = again
        peaks = [[np.nan if rate is None else rate[:count].max() for count in steps] for rate in again]
        peaks_by_name[name] = np.repeat(np.array(peaks)[:, :, None], len(quantiles), axis=2)
    columns = [list(quantiles).index(level) for level in RATIO_QUANTILES]
    losses = {
        name: pinball(actual[:, :, None], peaks[:, :, columns], np.array(RATIO_QUANTILES))
        for name, peaks in peaks_by_name.items()
    }
    scores = []
    for horizon, horizon_s in enumerate(horizons_s):
        for name in peaks_by_name:
            own = losses[name][:, horizon]
            known = np.isfinite(own).all(axis=1)
            bounds = [losses[naive][:, horizon] for naive in SEASONS_S]
            # A naive is no rival at origins that it cannot predict.
            usable = [bound for bound in bounds if np.isfinite(bound[known]).all()] if known.any() else []
            bound = min((bound[known].mean(axis=0) for bound in usable), key=lambda loss: loss[0], default=None)
            ratios = [float("nan")] * 2
            if bound is not None:
                ratios = [loss_ratio(*pair) for pair in zip(own[known].mean(axis=0), bound, strict=True)]
            below = ~exceeds(actual[known, horizon], peaks_by_name[name][known, horizon, columns[0]])
            scores.append(
                PrequentialScore(
                    name,
                    horizon_s,
                    int(known.sum()),
                    float(ratios[0]),
                    float(ratios[1]),
                    float(below.mean()) if known.any() else float("nan"),
                    _wape(predicted, medians[name], rates_per_s, steps[horizon]),
                )
            )
    return scores


def _median(quantiles: Sequence[float]) -> int:
    return list(quantiles).index(0.5)


def _again(series: ArrivalSeries, origin: int, season_s: int, steps: int) -> Floats | None:
    """Rates of the last season, repeated in the series' local time; missing windows take its mean."""
    season = season_s // series.window_s
    if origin < season:
        return None
    last = series.rate_per_s()[origin - season : origin]
    if not np.isfinite(last).any():
        return None
    before = windows_before(series, origin, steps, season_s)
    again = np.where(before >= 0, series.counts[before], np.nan) / series.window_s
    return np.where(np.isfinite(again), again, np.nanmean(last))


def _wape(predicted: Sequence[Predicted], medians: Sequence[Floats | None], rates_per_s: Floats, steps: int) -> float:
    off = total = 0.0
    for one, median in zip(predicted, medians, strict=True):
        if median is not None:
            truth = rates_per_s[one.origin : one.origin + steps]
            known = np.isfinite(truth)
            off += float(np.abs(truth[known] - median[:steps][known]).sum())
            total += float(truth[known].sum())
    return off / total if total > 0 else float("nan")
