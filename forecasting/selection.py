"""Which forecasters are deployed at which horizon: none that loses to a naive rival, and the best few together.

The ladder: the best allowed ones, averaged; the better naive; and, where not even that can forecast, hold the plan
you have.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forecasting.backtest import BacktestTable
from forecasting.calibration import calibration, floor_per_s, ordered
from forecasting.errors import ForecastError
from forecasting.forecast import BacktestScore
from forecasting.scoring import (
    FEWEST_ORIGINS,
    better_naive,
    horizon_scores,
    loss_ratio,
    peak_loss_per_s,
    score_against,
    scored_origins,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

AVERAGED = 3
"""A single champion has been lucky as well as good; averaging three mends the coverage that choosing costs."""
DEPLOYED = "deployed"

STEADYING_ORIGINS = 12.0
USUAL_HORIZONS_S = (900, 3600, 21600, 86400)
USUAL_RATIO: Mapping[str, tuple[float, float, float, float]] = {
    "time_of_week": (0.92, 0.74, 0.78, 0.80),
    "prophet": (0.91, 0.79, 0.77, 0.79),
    "harmonic_arima": (0.85, 0.71, 0.77, 0.85),
    "persistence": (1.01, 1.02, 1.00, 1.01),
    "day_naive": (1.79, 1.86, 1.34, 1.30),
    "week_naive": (1.51, 1.42, 1.15, 1.13),
}
"""Peak loss against the better naive: geometric means over seven arrival traces, 63 origins each. They steady the
ranking of few origins, which is decided by those that happen to fall into busy hours."""


@dataclass(frozen=True)
class Selection:
    """chosen: names per horizon in seconds, averaged there. scores: of every forecaster, and of what is deployed."""

    chosen: Mapping[int, tuple[str, ...]]
    scores: tuple[BacktestScore, ...]
    notes: tuple[str, ...] = ()


def select(table: BacktestTable) -> Selection:
    """The choice per horizon. Raises ForecastError, to hold the plan, where no forecaster could forecast at all."""
    chosen: dict[int, tuple[str, ...]] = {}
    scores: list[BacktestScore] = []
    notes: list[str] = []
    every = np.arange(len(table.origins))
    for horizon, horizon_s in enumerate(table.horizons_s):
        scores += horizon_scores(table, horizon)
        names = best_allowed(table, horizon, every)
        naive = deployable_naive(table, horizon, every)
        if naive is None:
            told = "; ".join(f"{name}: {reason}" for name, reason in table.refusals.items()) or "too little history"
            raise ForecastError(
                f"no forecaster can forecast {horizon_s} s ahead, not even a naive one ({told}); hold the plan you have"
            )
        deployed = deployed_score(table, horizon)
        scores += [deployed] if deployed else []
        if not names:
            notes.append(f"{horizon_s} s: no forecaster beats the naive rivals; {naive} is deployed")
        elif deployed is not None and not deployed.allowed:
            notes.append(f"{horizon_s} s: {' + '.join(names)} held back ({deployed.reason}); {naive} is deployed")
            names = ()
        chosen[horizon_s] = names or (naive,)
    return Selection(chosen, tuple(scores), tuple(notes))


def best_allowed(table: BacktestTable, horizon: int, rows: Ints) -> tuple[str, ...]:
    """At most AVERAGED names that beat the better naive over these origins, best first; empty where none does."""
    naive = better_naive(table, horizon, rows)
    if naive is None:
        return ()
    rival = table.peak_per_s[naive][:, horizon]
    ranked = []
    for name, peaks in table.peak_per_s.items():
        own = np.intersect1d(rows, scored_origins(table, horizon, [peaks[:, horizon], rival]))
        if name in table.naive or own.size < FEWEST_ORIGINS:
            continue
        ratio = loss_ratio(
            peak_loss_per_s(table, horizon, peaks[:, horizon], own), peak_loss_per_s(table, horizon, rival, own)
        )
        if ratio < 1:
            ranked.append((steadied(table, horizon, name, ratio, own), name))
    return tuple(name for _, name in sorted(ranked)[:AVERAGED])


def chosen_at(table: BacktestTable, rows: Ints, able: Collection[str]) -> list[tuple[str, ...]]:
    """What to deploy per horizon, by these origins and of those that are able to forecast now.

    Where too few origins tell, the forecasters that are usually best.
    """
    chosen = []
    for horizon, horizon_s in enumerate(table.horizons_s):
        names = tuple(name for name in best_allowed(table, horizon, rows) if name in able)
        if not names and np.intersect1d(rows, scored_origins(table, horizon, [])).size < FEWEST_ORIGINS:
            usual = sorted((usual_ratio(name, horizon_s), name) for name in able)
            names = tuple(name for ratio, name in usual if ratio < 1)[:AVERAGED]
        naive = deployable_naive(table, horizon, rows)
        if naive is None or naive not in able:
            naive = min(able, key=lambda name: usual_ratio(name, horizon_s))
        chosen.append(names or (naive,))
    return chosen


def deployable_naive(table: BacktestTable, horizon: int, rows: Ints) -> str | None:
    """The naive to deploy where nothing beats the better one: by steadied rank, as luck has its say in few origins.

    None where no naive forecast at any of these origins.
    """
    rival = better_naive(table, horizon, rows)
    if rival is None:
        return None
    ranked = []
    for name in table.naive:
        said, best = table.peak_per_s[name][:, horizon], table.peak_per_s[rival][:, horizon]
        shared = scored_origins(table, horizon, [best])
        own = np.intersect1d(rows, scored_origins(table, horizon, [said, best]))
        if own.size == np.intersect1d(rows, shared).size:
            ratio = loss_ratio(peak_loss_per_s(table, horizon, said, own), peak_loss_per_s(table, horizon, best, own))
            ranked.append((steadied(table, horizon, name, ratio, own), name))
    return min(ranked)[1]


def steadied(table: BacktestTable, horizon: int, name: str, ratio: float, rows: Ints) -> float:
    """Logarithm of a loss ratio, drawn towards what is usual the fewer the origins at which anything came."""
    came = int((table.actual_per_s[rows, horizon] > 0).sum())
    trust = came / (came + STEADYING_ORIGINS)
    usual = usual_ratio(name, table.horizons_s[horizon])
    return float(trust * np.log(np.clip(ratio, 1e-3, 1e3)) + (1 - trust) * np.log(usual))


def usual_ratio(name: str, horizon_s: int) -> float:
    """Loss ratio of a forecaster on other traces, between the horizons it was measured at; 1 where it never was."""
    if name not in USUAL_RATIO:
        return 1.0
    return float(np.interp(np.log(horizon_s), np.log(USUAL_HORIZONS_S), USUAL_RATIO[name]))


def deployed_peaks_per_s(table: BacktestTable, chosen: Sequence[Sequence[str]]) -> Floats:
    """What the chosen forecasters together said at every origin, uncalibrated: shape (origins, horizons, quantiles).

    chosen: names per horizon, in the table's order.
    """
    floor = floor_per_s(table.actual_per_s)
    by_horizon = [
        log_average(np.stack([table.peak_per_s[name][:, horizon] for name in names]), floor)
        for horizon, names in enumerate(chosen)
    ]
    return ordered(np.stack(by_horizon, axis=1))


def log_average(peaks_per_s: Floats, floor: float) -> Floats:
    """Geometric mean over the first axis, with a floor so that one zero does not decide; all zero stays zero."""
    mean = np.exp(np.log(peaks_per_s + floor).mean(axis=0)) - floor
    return np.where((peaks_per_s == 0).all(axis=0), 0.0, np.maximum(mean, 0.0))


def deployed_score(table: BacktestTable, horizon: int) -> BacktestScore | None:
    """The score of the whole procedure, each origin judged by a choice and a calibration that did not see it.

    None where there are too few origins for that.
    """
    every = np.arange(len(table.origins))
    naive = better_naive(table, horizon, every)
    if naive is None:
        return None
    rows = scored_origins(table, horizon, [table.peak_per_s[naive][:, horizon]])
    if rows.size < FEWEST_ORIGINS:
        return None
    said = np.full((len(table.origins), len(table.quantiles)), np.nan)
    for row in rows:
        others = np.setdiff1d(every, [row])
        chosen = [
            best_allowed(table, number, others) or (deployable_naive(table, number, others) or naive,)
            for number in range(len(table.horizons_s))
        ]
        peaks = deployed_peaks_per_s(table, chosen)
        learnt = calibration(peaks[others], table.actual_per_s[others], table.quantiles)
        said[row] = learnt.applied(peaks[row])[horizon]
    return score_against(table, horizon, DEPLOYED, said, naive)
