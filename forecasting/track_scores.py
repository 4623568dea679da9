"""Scores of a source's past forecasts per horizon: coverage of the p95, and the loss relative to the naives.

Windows overlap if forecasts are issued more often than their horizon is long, and then repeat information. Shares and
means use all windows, but statements about chance use only disjoint ones.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import scipy

from forecasting.arrays import Flags, Floats, Ints
from forecasting.peaks import exceeds, pinball
from forecasting.scoring import COVERAGE_QUANTILE, SCORED_QUANTILES, loss_ratio
from forecasting.track_record import TrackRecord

INTERVAL = 0.95
"""Confidence level of a coverage interval: one in twenty misses the true share."""
MIN_SHARED = 0.5
"""A naive known for a smaller share of the completed windows is no rival: it would decide which of them count."""


@dataclass(frozen=True)
class TrackScore:
    """Forecast score at one horizon, over its completed windows: those that have ended with a known peak.

    held: windows whose peak stayed at or below the p95; coverage: their share; coverage_low, coverage_high: its
    binomial interval (Clopper and Pearson 1934), with disjoint windows as trials. apart: their number. loss_per_s: mean
    pinball loss of the peak over p90, p95 and p99. naive: the better seasonal naive, empty without one. ratio_to_naive:
    loss over the naive's in the same windows; below 1 wins. NaN if unknown.
    """

    horizon_s: int
    completed: int
    held: int
    apart: int
    coverage: float
    coverage_low: float
    coverage_high: float
    loss_per_s: float
    naive: str
    ratio_to_naive: float


def track_scores(record: TrackRecord) -> tuple[TrackScore, ...]:
    """The score at each horizon of the record."""
    return tuple(_score(record, horizon) for horizon in range(len(record.horizons_s)))


def completed_windows(record: TrackRecord, horizon: int) -> Flags:
    """Whether a window has ended, with a known peak and a forecast p95; shape (forecasts,). horizon: its index."""
    return np.isfinite(record.actual_per_s[:, horizon]) & np.isfinite(p95_per_s(record, horizon))


def p95_per_s(record: TrackRecord, horizon: int) -> Floats:
    """The forecast p95 of the peak, shape (forecasts,); all NaN if it was never forecast."""
    return quantile_per_s(record, horizon, COVERAGE_QUANTILE)


def quantile_per_s(record: TrackRecord, horizon: int, quantile: float) -> Floats:
    """A forecast quantile of the peak, shape (forecasts,); all NaN if it was never forecast."""
    if quantile not in record.quantiles:
        return np.full(len(record.issued), np.nan)
    return record.peak_per_s[:, horizon, record.quantiles.index(quantile)]


def losses_per_s(record: TrackRecord, horizon: int) -> Floats:
    """Pinball loss of the peak in each window, the mean over p90, p95 and p99; shape (forecasts,), NaN if unknown."""
    columns = [record.quantiles.index(level) for level in SCORED_QUANTILES if level in record.quantiles]
    if len(columns) < len(SCORED_QUANTILES):
        return np.full(len(record.issued), np.nan)
    actual = record.actual_per_s[:, horizon][:, None]
    return np.asarray(pinball(actual, record.peak_per_s[:, horizon, columns], np.array(SCORED_QUANTILES)).mean(axis=1))


def apart_windows(issued: tuple[datetime, ...], rows: Ints, horizon_s: int) -> Ints:
    """The newest of these windows and as many earlier ones as fit without overlap; ascending."""
    kept: list[int] = []
    for row in reversed(rows.tolist()):
        if not kept or (issued[kept[-1]] - issued[row]).total_seconds() >= horizon_s:
            kept.append(row)
    return np.array(kept[::-1], dtype=np.int64)


def _score(record: TrackRecord, horizon: int) -> TrackScore:
    horizon_s = record.horizons_s[horizon]
    rows = np.flatnonzero(completed_windows(record, horizon))
    held = int((~exceeds(record.actual_per_s[rows, horizon], p95_per_s(record, horizon)[rows])).sum())
    apart = int(apart_windows(record.issued, rows, horizon_s).size)
    coverage = held / rows.size if rows.size else float("nan")
    low, high = _interval(coverage * apart, apart) if apart else (float("nan"), float("nan"))
    losses = losses_per_s(record, horizon)
    known = losses[np.isfinite(losses)]
    naive, ratio = _against_naives(record, horizon, losses)
    loss = float(known.mean()) if known.size else float("nan")
    return TrackScore(horizon_s, int(rows.size), held, apart, coverage, low, high, loss, naive, ratio)


def _interval(successes: float, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's interval by the beta distribution, which also accepts fractional successes."""
    tail = (1 - INTERVAL) / 2
    failures = trials - successes
    low = float(scipy.special.betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(scipy.special.betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return low, high


def _against_naives(record: TrackRecord, horizon: int, losses: Floats) -> tuple[str, float]:
    """The better naive over the windows known for every rival, and the ratio of losses there."""
    own = np.isfinite(losses)
    if not own.any():
        return "", float("nan")
    actual = record.actual_per_s[:, horizon][:, None]
    rivals = {
        name: pinball(actual, naive_per_s[:, horizon][:, None], np.array(SCORED_QUANTILES)).mean(axis=1)
        for name, naive_per_s in record.naive_per_s.items()
        if np.isfinite(naive_per_s[own, horizon]).mean() >= MIN_SHARED
    }
    shared = np.logical_and.reduce([own, *(np.isfinite(loss) for loss in rivals.values())])
    if not rivals or not shared.any():
        return "", float("nan")
    bound, name = min((float(loss[shared].mean()), name) for name, loss in rivals.items())
    return name, loss_ratio(float(losses[shared].mean()), bound)
