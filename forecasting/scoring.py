"""Scores of a backtest: each forecaster's loss relative to the better naive rival, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.arrays import Flags, Floats
from forecasting.backtest import BacktestTable
from forecasting.forecast import BacktestScore
from forecasting.peaks import exceeds, pinball

MIN_ORIGINS = 4
SCORED_QUANTILES = (0.9, 0.95, 0.99)
COVERAGE_QUANTILE = 0.95
EVERY = slice(None)


@dataclass(frozen=True)
class PeakLosses:
    """Mean pinball loss over SCORED_QUANTILES of each forecaster's peaks, NaN without a forecast or known peak.

    per_s: shape (forecasters, origins, horizons), in the order of names.
    """

    names: tuple[str, ...]
    naive: Flags
    per_s: Floats

    def better_naive(self, horizon: int, rows: Flags) -> str | None:
        """The naive with the lowest loss over these origins, among those that forecast most of them; None if there is
        none.
        """
        number = better_naive_number(self.per_s[:, rows, horizon], self.naive)
        return None if number is None else self.names[number]


def peak_losses(table: BacktestTable, rows: slice = EVERY) -> PeakLosses:
    """The losses at all origins of a table, or at `rows`."""
    names = tuple(sorted(table.peak_per_s))
    peaks_per_s = np.stack([table.peak_per_s[name][rows] for name in names])
    naive = np.array([name in table.naive for name in names])
    return PeakLosses(names, naive, loss_per_s(peaks_per_s, table.actual_per_s[rows], table.quantiles))


def loss_per_s(peaks_per_s: Floats, actual_per_s: Floats, quantiles: Sequence[float]) -> Floats:
    """Mean pinball loss over SCORED_QUANTILES, shape (…, origins, horizons). peaks_per_s: last axis quantiles."""
    columns = np.flatnonzero(np.isin(quantiles, SCORED_QUANTILES))
    levels = np.asarray(quantiles)[columns]
    return np.asarray(pinball(actual_per_s[..., None], peaks_per_s[..., columns], levels).mean(axis=-1))


def better_naive_number(losses: Floats, naive: Flags, counts: Floats | None = None) -> int | None:
    """Index of the naive with the lowest mean loss, among those that forecast most often.

    losses: shape (forecasters, origins), NaN if unknown. counts: weight of each origin, None for 1.
    """
    known = np.isfinite(losses)
    spoke = np.where(naive, known.sum(axis=1), 0)
    if not spoke.any():
        return None
    counts = np.ones(losses.shape[1]) if counts is None else counts
    total, summed = known @ counts, np.where(known, losses, 0.0) @ counts
    mean = np.divide(summed, total, out=np.full(total.shape, np.inf), where=total > 0)
    return int(np.argmin(np.where(spoke == spoke.max(), mean, np.inf)))


def horizon_scores(table: BacktestTable, losses: PeakLosses, horizon: int) -> list[BacktestScore]:
    """The score of every forecaster at one horizon (its index in the table), with the verdict and its reason."""
    naive = losses.better_naive(horizon, np.ones(len(table.origins), dtype=bool))
    return [score_against(table, losses, horizon, name, table.peak_per_s[name], naive) for name in table.peak_per_s]


def score_against(
    table: BacktestTable, losses: PeakLosses, horizon: int, name: str, peaks_per_s: Floats, naive: str | None
) -> BacktestScore:
    """The score of `peaks_per_s`, quantiles of shape (origins, horizons, quantiles), over origins shared with the naive
    rival.
    """
    own = loss_per_s(peaks_per_s[:, horizon], table.actual_per_s[:, horizon], table.quantiles)
    rival = own if naive is None else losses.per_s[losses.names.index(naive), :, horizon]
    rows = np.isfinite(own) & np.isfinite(rival)
    loss, bound = (float(of[rows].mean()) if rows.any() else float("nan") for of in (own, rival))
    bound = bound if naive else float("nan")
    ratio = loss_ratio(loss, bound)
    allowed, reason = _verdict(table, name, naive, loss, bound, ratio, int(rows.sum()))
    coverage = _coverage(table, horizon, peaks_per_s[:, horizon], rows)
    return BacktestScore(name, table.horizons_s[horizon], loss, ratio, coverage, int(rows.sum()), allowed, reason)


def _verdict(
    table: BacktestTable, name: str, naive: str | None, loss: float, bound: float, ratio: float, origins: int
) -> tuple[bool, str]:
    if name in table.naive and origins:
        return True, "naive rival" + (", the better one here" if name == naive else "")
    if origins < MIN_ORIGINS:
        why = table.refusals.get(name, "wait for more history")
        return False, f"{origins} origins to judge by, at least {MIN_ORIGINS} are needed; {why}"
    against = f"peak loss {loss:.4g}/s against {bound:.4g}/s of {naive}"
    if ratio < 1:
        return True, f"{against}: ratio {ratio:.2f} < 1"
    return False, f"{against}: ratio {ratio:.2f}, so the naives weigh more; longer or cleaner history would help"


def loss_ratio(loss: float, bound: float) -> float:
    """loss / bound; 1 if both are zero, as neither wins; NaN if either is unknown."""
    if bound > 0:
        return loss / bound
    if not (np.isfinite(loss) and np.isfinite(bound)):
        return float("nan")
    return 1.0 if loss == 0 else float("inf")


def _coverage(table: BacktestTable, horizon: int, peaks_per_s: Floats, rows: Flags) -> float:
    if not rows.any() or COVERAGE_QUANTILE not in table.quantiles:
        return float("nan")
    column = table.quantiles.index(COVERAGE_QUANTILE)
    return float((~exceeds(table.actual_per_s[rows, horizon], peaks_per_s[rows, column])).mean())
