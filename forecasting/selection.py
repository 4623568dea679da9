"""Which forecasters are deployed at which horizon: all that do not clearly lose to the naive rivals, by their merit.

Each is weighed by a power of its loss, so that the better of two alike ones leads only a little and a bad one hardly
counts. Against taking the best three in equal parts the loss is about the same up to 6 h and lower at 24 h and far in
the tail, the coverage better and the worst loss smaller over seven traces (docs/adr/0010). The ladder: those together;
where they lost to a naive so far, that naive; and, where not even that can forecast, hold the plan you have.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.backtest import BacktestTable
from forecasting.calibration import Calibration, calibration, floor_per_s, ordered
from forecasting.errors import ForecastError
from forecasting.forecast import BacktestScore
from forecasting.scoring import (
    FEWEST_ORIGINS,
    PeakLosses,
    better_naive_number,
    horizon_scores,
    loss_per_s,
    peak_losses,
    score_against,
)

DEPLOYED = "deployed"
SHARPNESS = 6.0
"""Power of the inverse loss by which forecasters are weighed. From 3 to 12 the losses differ by a hundredth."""
LOSING = 1.2
"""A forecaster that loses to the better naive by more than this factor is not deployed at all."""
LEAST_WEIGHT = 0.05
"""Less is left out: it costs a fit and moves nothing."""

STEADYING_ORIGINS = 12.0
USUAL_HORIZONS_S = (900, 3600, 21600, 86400)
USUAL_RATIO: Mapping[str, tuple[float, float, float, float]] = {
    "time_of_week": (0.98, 0.83, 0.84, 0.79),
    "ridge_fourier": (0.98, 0.89, 0.85, 0.81),
    "prophet": (0.98, 0.88, 0.85, 0.81),
    "harmonic_arima": (0.98, 0.94, 0.87, 0.86),
    "persistence": (1.00, 1.03, 1.01, 1.01),
    "day_naive": (1.28, 1.49, 1.28, 1.24),
    "week_naive": (1.26, 1.27, 1.18, 1.24),
    DEPLOYED: (0.95, 0.83, 0.88, 0.80),
}
"""Peak loss against the better naive: geometric means over seven arrival traces. They steady the ranking of few
origins, which is decided by those that happen to fall into busy hours."""

Weights = Mapping[str, float]
"""Names of forecasters, each with its share; shares add up to 1, the largest first."""


@dataclass(frozen=True)
class Turn:
    """What is deployed from one origin on. weights: per horizon, in the table's order; naive: what stands in for them.

    held_back: per horizon, whether the naive does, since what was deployed so far lost to it.
    """

    weights: tuple[Weights, ...]
    naive: tuple[str, ...]
    held_back: tuple[bool, ...]
    calibration: Calibration


class Turns:
    """Chooses, averages and calibrates at one origin after another, each time from what was over by then.

    The table may still be filled while turns are taken, an origin at a time.
    """

    def __init__(self, table: BacktestTable) -> None:
        self.table = table
        shape = (len(table.origins), len(table.horizons_s), len(table.quantiles))
        self.averaged_per_s = np.full(shape, np.nan)
        self.calibrated_per_s = np.full(shape, np.nan)
        self.deployed_per_s = np.full(shape, np.nan)
        self._known_from = _known_from(table)

    def take(self, row: int, able: Collection[str]) -> Turn:
        """What to deploy at this origin, or after the last one (row = number of origins), of those able to forecast.

        At least one of them has to be naive.
        """
        table = self.table
        over = (self._known_from <= row) & np.isfinite(table.actual_per_s)
        over[row:] = False
        losses = peak_losses(table)
        naives = tuple(_naive_at(table, losses, over, able))
        weights = [_weights_at(table, losses, over, able, horizon) for horizon in range(len(table.horizons_s))]
        learnt = self._calibration(row, over)
        lost = [
            lost and not table.naive.issuperset(of) for lost, of in zip(self._lost(losses, over), weights, strict=True)
        ]
        turn = Turn(
            tuple({naive: 1.0} if held else w for w, naive, held in zip(weights, naives, lost, strict=True)),
            naives,
            tuple(lost),
            learnt,
        )
        if row < len(table.origins):
            self._keep(row, weights, turn)
        return turn

    def _keep(self, row: int, weights: Sequence[Weights], turn: Turn) -> None:
        """What is said at this origin: with all in their weights, and with what stands in for them."""
        said = {name: peaks[row] for name, peaks in self.table.peak_per_s.items()}
        floor = turn.calibration.floor_per_s
        self.averaged_per_s[row] = averaged_peaks_per_s(said, weights, floor)
        self.calibrated_per_s[row] = turn.calibration.applied(self.averaged_per_s[row])
        self.deployed_per_s[row] = deployed_peaks_per_s(said, turn)

    def _calibration(self, row: int, over: Flags) -> Calibration:
        actual = np.where(over, self.table.actual_per_s, np.nan)
        # Until a peak has come, those that are forecast tell what is next to nothing.
        told = actual if over.any() else np.stack(list(self.table.peak_per_s.values()))[:, : row + 1]
        return calibration(self.averaged_per_s, actual, self.table.quantiles, floor_per_s(told))

    def _lost(self, losses: PeakLosses, over: Flags) -> list[bool]:
        """Whether what the forecasters said together so far lost to the better naive, per horizon."""
        together = loss_per_s(self.calibrated_per_s, self.table.actual_per_s, self.table.quantiles)
        lost = []
        for horizon, horizon_s in enumerate(self.table.horizons_s):
            rows = over[:, horizon] & np.isfinite(together[:, horizon])
            against = losses.per_s[:, rows, horizon]
            number = better_naive_number(against, losses.naive)
            if number is None:
                lost.append(False)
                continue
            own = together[rows, horizon][None]
            came = self.table.actual_per_s[rows, horizon] > 0
            log_ratio = _steadied(own, against[number], came, np.array([usual_ratio(DEPLOYED, horizon_s)]))
            lost.append(bool(log_ratio[0] >= 0))
        return lost


@dataclass(frozen=True)
class Selection:
    """turn: what is deployed now. scores: of every forecaster, and of what would have been deployed."""

    turn: Turn
    scores: tuple[BacktestScore, ...]
    notes: tuple[str, ...] = ()


def select(table: BacktestTable, able: Collection[str], refusals: Mapping[str, str] | None = None) -> Selection:
    """The choice for now, of the forecasters that are able to forecast now, and the calibration of what they say.

    refusals: why the others are not. Raises ForecastError, to hold the plan, where not even a naive one is.
    """
    if not table.naive.intersection(able):
        told = "; ".join(f"{name}: {reason}" for name, reason in (refusals or table.refusals).items())
        raise ForecastError(
            f"no forecaster can forecast, not even a naive one ({told or 'too little history'}); hold the plan you have"
        )
    turns = Turns(table)
    for row in range(len(table.origins)):
        spoke = [name for name, peaks in table.peak_per_s.items() if np.isfinite(peaks[row]).all()]
        if table.naive.intersection(spoke):
            turns.take(row, spoke)
    turn = turns.take(len(table.origins), able)
    losses = peak_losses(table)
    scores: list[BacktestScore] = []
    notes: list[str] = []
    every = np.ones(len(table.origins), dtype=bool)
    for horizon, horizon_s in enumerate(table.horizons_s):
        scores += horizon_scores(table, losses, horizon)
        rival = losses.better_naive(horizon, every)
        deployed = score_against(table, losses, horizon, DEPLOYED, turns.deployed_per_s, rival)
        if deployed.origins >= FEWEST_ORIGINS:
            scores.append(deployed)
        if turn.held_back[horizon]:
            notes.append(f"{horizon_s} s: what was deployed so far lost to {turn.naive[horizon]}, which is deployed")
        elif set(turn.weights[horizon]) <= table.naive:
            what = " + ".join(turn.weights[horizon])
            why = "no forecaster beats the naive rivals" if rival else "nothing to judge by yet"
            notes.append(f"{horizon_s} s: {why}; {what} is deployed")
    return Selection(turn, tuple(scores), tuple(notes))


def after_surprise(turn: Turn, stand_in: str) -> Turn:
    """The same with one forecaster standing in for all at every horizon."""
    horizons = len(turn.weights)
    return replace(turn, weights=({stand_in: 1.0},) * horizons, held_back=(True,) * horizons)


def _known_from(table: BacktestTable) -> Ints:
    """Number of the first origin at which each peak was over, shape (origins, horizons)."""
    starts = np.array([origin.timestamp() for origin in table.origins])
    ends = starts[:, None] + np.asarray(table.horizons_s, dtype=np.float64)
    return np.searchsorted(starts, ends.reshape(-1), side="left").reshape(ends.shape)


def _weights_at(
    table: BacktestTable, losses: PeakLosses, over: Flags, able: Collection[str], horizon: int
) -> dict[str, float]:
    """Shares of the forecasters at one horizon, by their losses at the origins that are over."""
    may = np.array([name in able for name in losses.names])
    known = losses.per_s[:, over[:, horizon], horizon]
    usual = np.array([usual_ratio(name, table.horizons_s[horizon]) for name in losses.names])
    number = better_naive_number(known, losses.naive & may) if known.shape[1] >= FEWEST_ORIGINS else None
    if number is None:
        log_ratio = np.log(usual)
    else:
        came = table.actual_per_s[over[:, horizon], horizon] > 0
        log_ratio = _steadied(known, known[number], came, usual)
        judged = (np.isfinite(known) & np.isfinite(known[number])).sum(axis=1) >= FEWEST_ORIGINS
        may = may & (losses.naive | (judged & (log_ratio < np.log(LOSING))))
    shares = np.where(may, np.exp(-SHARPNESS * (log_ratio - log_ratio[may].min())), 0.0)
    shares = np.where(shares >= LEAST_WEIGHT * shares.sum(), shares, 0.0)
    shares = shares / shares.sum()
    order = np.argsort(-shares, kind="stable")
    return {losses.names[at]: float(shares[at]) for at in order if shares[at] > 0}


def _naive_at(table: BacktestTable, losses: PeakLosses, over: Flags, able: Collection[str]) -> list[str]:
    """The naive to stand in per horizon: by steadied rank, as luck has its say in few origins."""
    may = losses.naive & np.array([name in able for name in losses.names])
    chosen = []
    for horizon, horizon_s in enumerate(table.horizons_s):
        known = losses.per_s[:, over[:, horizon], horizon]
        usual = np.array([usual_ratio(name, horizon_s) for name in losses.names])
        number = better_naive_number(known, may)
        if number is None:
            log_ratio = np.log(usual)
        else:
            log_ratio = _steadied(known, known[number], table.actual_per_s[over[:, horizon], horizon] > 0, usual)
        chosen.append(losses.names[int(np.argmin(np.where(may, log_ratio, np.inf)))])
    return chosen


def _steadied(losses: Floats, bound: Floats, came: Flags, usual: Floats) -> Floats:
    """Logarithms of loss ratios, drawn towards what is usual the fewer the origins at which anything came.

    losses: shape (forecasters, origins); bound: of the rival, shape (origins,).
    """
    both = np.isfinite(losses) & np.isfinite(bound)
    own, rival = (np.where(both, of, 0.0).sum(axis=1) for of in (losses, np.broadcast_to(bound, losses.shape)))
    told = (both & came).sum(axis=1)
    trust = told / (told + STEADYING_ORIGINS)
    ratio = np.divide(own, rival, out=np.where(own > 0, np.inf, 1.0), where=rival > 0)
    return np.asarray(trust * np.log(np.clip(ratio, 1e-3, 1e3)) + (1 - trust) * np.log(usual))


@cache
def usual_ratio(name: str, horizon_s: int) -> float:
    """Loss ratio of a forecaster on other traces, between the horizons it was measured at; 1 where it never was."""
    if name not in USUAL_RATIO:
        return 1.0
    return float(np.interp(np.log(horizon_s), np.log(USUAL_HORIZONS_S), USUAL_RATIO[name]))


def deployed_peaks_per_s(said: Mapping[str, Floats], turn: Turn) -> Floats:
    """Calibrated peak quantiles of what is deployed, shape (horizons, quantiles), of what forecasters said (by name,
    same shape).

    What stands in for the others is as it comes: the calibration is of them.
    """
    averaged = averaged_peaks_per_s(said, turn.weights, turn.calibration.floor_per_s)
    return ordered(np.where(np.array(turn.held_back)[:, None], averaged, turn.calibration.applied(averaged)))


def averaged_peaks_per_s(said: Mapping[str, Floats], weights: Sequence[Weights], floor_per_s: float) -> Floats:
    """Peak quantiles of the weighed forecasters together, uncalibrated, shape (horizons, quantiles)."""
    return ordered(
        np.stack([log_average({name: said[name][at] for name in w}, w, floor_per_s) for at, w in enumerate(weights)])
    )


def log_average(peaks_per_s: Mapping[str, Floats], weights: Weights, floor_per_s: float) -> Floats:
    """Weighed geometric mean, with a floor so that one zero does not decide; all zero stays zero."""
    stacked = np.stack([peaks_per_s[name] for name in weights])
    shares = np.array(list(weights.values())).reshape(-1, *[1] * (stacked.ndim - 1))
    mean = np.exp((np.log(stacked + floor_per_s) * shares).sum(axis=0)) - floor_per_s
    return np.where((stacked == 0).all(axis=0), 0.0, np.maximum(mean, 0.0))
