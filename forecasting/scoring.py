"""Scores of a backtest: the loss of each forecaster beside that of the better naive rival, and the verdict."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from forecasting.backtest import BacktestTable
from forecasting.forecast import BacktestScore
from forecasting.peaks import pinball

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEWEST_ORIGINS = 4
SCORED_QUANTILES = (0.9, 0.95, 0.99)
COVERAGE_QUANTILE = 0.95


def horizon_scores(table: BacktestTable, horizon: int) -> list[BacktestScore]:
    """The score of every forecaster at one horizon (its number in the table), with why it is allowed or not."""
    naive = better_naive(table, horizon, np.arange(len(table.origins)))
    return [score_against(table, horizon, name, peaks[:, horizon], naive) for name, peaks in table.peak_per_s.items()]


def score_against(table: BacktestTable, horizon: int, name: str, said: Floats, naive: str | None) -> BacktestScore:
    """The score of peak quantiles `said`, shape (origins, quantiles), over the origins that the naive rival shares."""
    rows = scored_origins(table, horizon, [said] + ([table.peak_per_s[naive][:, horizon]] if naive else []))
    loss = peak_loss_per_s(table, horizon, said, rows)
    bound = peak_loss_per_s(table, horizon, table.peak_per_s[naive][:, horizon], rows) if naive else float("nan")
    ratio = loss_ratio(loss, bound)
    allowed, reason = _verdict(table, name, naive, loss, bound, ratio, rows.size)
    coverage = _coverage(table, horizon, said, rows)
    return BacktestScore(name, table.horizons_s[horizon], loss, ratio, coverage, int(rows.size), allowed, reason)


def _verdict(
    table: BacktestTable, name: str, naive: str | None, loss: float, bound: float, ratio: float, origins: int
) -> tuple[bool, str]:
    if name in table.naive and origins:
        return True, "naive rival" + (", the better one here" if name == naive else "")
    if origins < FEWEST_ORIGINS:
        why = table.refusals.get(name, "wait for more history")
        return False, f"{origins} origins to judge by, at least {FEWEST_ORIGINS} are needed; {why}"
    against = f"peak loss {loss:.4g}/s against {bound:.4g}/s of {naive}"
    if ratio < 1:
        return True, f"{against}: ratio {ratio:.2f} < 1"
    return False, f"{against}: ratio {ratio:.2f}, must be below 1; longer or cleaner history would help"


def better_naive(table: BacktestTable, horizon: int, rows: Ints) -> str | None:
    """The naive with the lowest loss over these origins, of those that forecast at most of them; None without any."""
    judged = []
    for name in sorted(table.naive):
        said = table.peak_per_s[name][:, horizon]
        own = np.intersect1d(rows, scored_origins(table, horizon, [said]))
        if own.size:
            judged.append((-int(own.size), peak_loss_per_s(table, horizon, said, own), name))
    return min(judged)[2] if judged else None


def scored_origins(table: BacktestTable, horizon: int, said: Sequence[Floats]) -> Ints:
    """Numbers of the origins whose peak is known and for which all of these forecasts exist."""
    known = np.isfinite(table.actual_per_s[:, horizon])
    for peaks in said:
        known = known & np.isfinite(peaks).all(axis=1)
    return np.flatnonzero(known).astype(np.int64)


def peak_loss_per_s(table: BacktestTable, horizon: int, said: Floats, rows: Ints) -> float:
    """Mean pinball loss of the peak over these origins and SCORED_QUANTILES; NaN without origins."""
    if not rows.size:
        return float("nan")
    columns = np.flatnonzero(np.isin(table.quantiles, SCORED_QUANTILES))
    levels = np.array(table.quantiles)[columns]
    actual = table.actual_per_s[rows, horizon][:, None]
    return float(pinball(actual, said[np.ix_(rows, columns)], levels).mean())


def loss_ratio(loss: float, bound: float) -> float:
    """loss / bound; 1 where both are nothing, as neither wins; NaN where one is not known."""
    if bound > 0:
        return loss / bound
    if not (np.isfinite(loss) and np.isfinite(bound)):
        return float("nan")
    return 1.0 if loss == 0 else float("inf")


def _coverage(table: BacktestTable, horizon: int, said: Floats, rows: Ints) -> float:
    if not rows.size or COVERAGE_QUANTILE not in table.quantiles:
        return float("nan")
    column = table.quantiles.index(COVERAGE_QUANTILE)
    return float((table.actual_per_s[rows, horizon] <= said[rows, column]).mean())
