"""Selects the deployed mixture per horizon: all forecasters, weighted by recent performance.

Weights are a power of each loss relative to the better naive's, so that among similar forecasters the best leads only a
little and a bad one hardly counts. Losses fade with age, so that weights follow a change of habits within days. Naive
rivals take part, so the mixture never loses much to them. There is no hard switching, since picking a winner by a tiny
margin is picking by luck (docs/decisions.md, 10 and 18).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.backtest import BacktestTable
from forecasting.calibration import Calibration, calibration, floor_per_s, ordered
from forecasting.errors import ForecastError
from forecasting.forecast import BacktestScore, mixture_name
from forecasting.models.borrowed_forecaster import BORROWED
from forecasting.models.first_days_forecaster import FIRST_DAYS
from forecasting.models.time_grid import DAY_S
from forecasting.scoring import (
    MIN_ORIGINS,
    PeakLosses,
    better_naive_number,
    horizon_scores,
    peak_losses,
    score_against,
)

DEPLOYED = "deployed"
SHARPNESS = 6.0
"""Power of the inverse loss in the weights. From 4 to 9 the losses differ by a hundredth."""
MIN_WEIGHT = 0.05
"""Smaller weights are dropped: they cost a fit and change nothing."""
HALF_LIFE_S = 5 * DAY_S
"""Age at which a loss counts half. From 3 to 8 days the losses differ by a hundredth."""

STEADYING_ORIGINS = 12.0
EXPECTED_RATIO = 0.9
"""Prior of a forecaster's loss over the better naive's. It stabilises the ranking by few origins, which otherwise
depends on those in busy hours."""
EXPECTED_BORROWED_RATIO = 1.1
"""The same for a borrowed shape: a weight of 36 % beside persistence. With a weight of one half, one of seven traces
cut to a day lost to persistence; with a third or two fifths none did (docs/decisions.md, 19)."""
EXPECTED_FIRST_DAYS_RATIO = 0.8
"""The same for the usual day of few days, as measured with 36 hours of history: four fifths of the weight beside
persistence."""

Weights = Mapping[str, float]
"""Weights by name of forecaster, largest first; they add up to 1."""


@dataclass(frozen=True)
class Ensemble:
    """The mixture deployed from one origin on. weights: per horizon, in the table's order. naive: fallback per horizon.

    held_back: per horizon, whether the fallback is used, uncalibrated: the calibration is of the others.
    """

    weights: tuple[Weights, ...]
    naive: tuple[str, ...]
    held_back: tuple[bool, ...]
    calibration: Calibration


class Ensembles:
    """Selects, averages and calibrates at successive origins, each time from the data complete by then.

    The table may be filled one origin at a time while ensembles are taken. Losses are computed once per origin.
    """

    def __init__(self, table: BacktestTable) -> None:
        self.table = table
        shape = (len(table.origins), len(table.horizons_s), len(table.quantiles))
        self.averaged_per_s = np.full(shape, np.nan)
        self.deployed_per_s = np.full(shape, np.nan)
        self._starts_s = np.array([origin.timestamp() for origin in table.origins])
        self._known_from = _known_from(table)
        self._judged = 0
        self._losses = peak_losses(table, slice(0, 0))

    def take(self, row: int, able: Collection[str]) -> Ensemble:
        """The ensemble for this origin, or after the last one (row = number of origins), among those able to forecast.

        At least one of these must be naive.
        """
        table = self.table
        over = (self._known_from <= row) & np.isfinite(table.actual_per_s)
        over[row:] = False
        losses = self._losses_before(row)
        horizons = range(len(table.horizons_s))
        weights, naives = zip(*(self._choice_at(row, losses, over, able, horizon) for horizon in horizons), strict=True)
        ensemble = Ensemble(weights, naives, (False,) * len(weights), self._calibration(row, over))
        if row < len(table.origins):
            self._keep(row, ensemble)
        return ensemble

    def _losses_before(self, row: int) -> PeakLosses:
        """The losses at earlier origins, which are final."""
        if row > self._judged:
            newer = peak_losses(self.table, slice(self._judged, row))
            per_s = np.concatenate([self._losses.per_s, newer.per_s], axis=1)
            self._losses, self._judged = replace(newer, per_s=per_s), row
        return self._losses

    def _keep(self, row: int, ensemble: Ensemble) -> None:
        """Record the predictions at this origin, before and after calibration."""
        peaks_by_name = {name: peaks[row] for name, peaks in self.table.peak_per_s.items()}
        self.averaged_per_s[row] = averaged_peaks_per_s(
            peaks_by_name, ensemble.weights, ensemble.calibration.floor_per_s
        )
        # A backtest holds nothing back.
        self.deployed_per_s[row] = ensemble.calibration.applied(self.averaged_per_s[row])

    def _calibration(self, row: int, over: Flags) -> Calibration:
        actual = np.where(over, self.table.actual_per_s, np.nan)
        # Until a peak is known, derive the floor from the forecast peaks.
        peaks = actual if over.any() else np.stack(list(self.table.peak_per_s.values()))[:, : row + 1]
        return calibration(self.averaged_per_s, actual, self.table.quantiles, floor_per_s(peaks))

    def _choice_at(
        self, row: int, losses: PeakLosses, over: Flags, able: Collection[str], horizon: int
    ) -> tuple[dict[str, float], str]:
        """Weights of the forecasters at one horizon by their losses at completed origins, and the fallback naive."""
        may = np.array([name in able for name in losses.names])
        naive = losses.naive & may
        log_ratio, judged = self._log_ratios(row, losses, over, horizon, naive)
        may = may & (losses.naive | judged)
        shares = np.where(may, np.exp(-SHARPNESS * (log_ratio - log_ratio[may].min())), 0.0)
        shares = np.where(shares >= MIN_WEIGHT * shares.sum(), shares, 0.0)
        shares = shares / shares.sum()
        order = np.argsort(-shares, kind="stable")
        weights = {losses.names[at]: float(shares[at]) for at in order if shares[at] > 0}
        return weights, losses.names[int(np.argmin(np.where(naive, log_ratio, np.inf)))]

    def _log_ratios(
        self, row: int, losses: PeakLosses, over: Flags, horizon: int, rivals: Flags
    ) -> tuple[Floats, Flags]:
        """Logarithms of recent losses over the better rival's, shape (forecasters,), and which forecasters were judged.

        They are shrunk towards the prior, more so with fewer recent origins with arrivals. With too few origins, all
        get the prior and count as judged.
        """
        rows = np.flatnonzero(over[:, horizon])
        known = losses.per_s[:, rows, horizon]
        ratios = np.where(losses.naive, 1.0, EXPECTED_RATIO)
        ratios[[name == BORROWED for name in losses.names]] = EXPECTED_BORROWED_RATIO
        ratios[[name == FIRST_DAYS for name in losses.names]] = EXPECTED_FIRST_DAYS_RATIO
        expected = np.log(ratios)
        as_expected = expected, np.ones(expected.size, dtype=bool)
        if rows.size < MIN_ORIGINS:
            return as_expected
        counts = self._counts(row, rows)
        number = better_naive_number(known, rivals, counts)
        if number is None:
            return as_expected
        both = np.isfinite(known) & np.isfinite(known[number])
        own, rival = (np.where(both, of, 0.0) @ counts for of in (known, np.broadcast_to(known[number], known.shape)))
        informative = (both & (self.table.actual_per_s[rows, horizon] > 0)) @ counts
        trust = informative / (informative + STEADYING_ORIGINS)
        ratio = np.divide(own, rival, out=np.where(own > 0, np.inf, 1.0), where=rival > 0)
        log_ratio = trust * np.log(np.clip(ratio, 1e-3, 1e3)) + (1 - trust) * expected
        return log_ratio, both.sum(axis=1) >= MIN_ORIGINS

    def _counts(self, row: int, rows: Ints) -> Floats:
        """Weight of each of these origins at this one, which falls with age."""
        now = min(row, self._starts_s.size - 1)
        return np.asarray(0.5 ** ((self._starts_s[now] - self._starts_s[rows]) / HALF_LIFE_S))


@dataclass(frozen=True)
class Selection:
    """ensemble: deployed now. scores: of every forecaster, and of the mixture that would have been deployed."""

    ensemble: Ensemble
    scores: tuple[BacktestScore, ...]
    notes: tuple[str, ...] = ()


def select(table: BacktestTable, able: Collection[str], refusals: Mapping[str, str] | None = None) -> Selection:
    """Select among the forecasters that are able to forecast now, and calibrate the mixture.

    refusals: reasons of the others. Raises ForecastError, to hold the plan, if not even a naive one is able.
    """
    if not table.naive.intersection(able):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in (refusals or table.refusals).items())
        raise ForecastError(
            f"no forecaster can forecast, not even a naive one ({reasons or 'too little history'}); "
            "hold the plan you have"
        )
    ensembles = Ensembles(table)
    for row in range(len(table.origins)):
        spoke = [name for name, peaks in table.peak_per_s.items() if np.isfinite(peaks[row]).all()]
        if table.naive.intersection(spoke):
            ensembles.take(row, spoke)
    ensemble = ensembles.take(len(table.origins), able)
    losses = peak_losses(table)
    scores: list[BacktestScore] = []
    notes: list[str] = []
    every = np.ones(len(table.origins), dtype=bool)
    for horizon, horizon_s in enumerate(table.horizons_s):
        scores += horizon_scores(table, losses, horizon)
        rival = losses.better_naive(horizon, every)
        deployed = score_against(table, losses, horizon, DEPLOYED, ensembles.deployed_per_s, rival)
        if deployed.origins >= MIN_ORIGINS:
            scores.append(deployed)
        if set(ensemble.weights[horizon]) <= table.naive:
            what = mixture_name(ensemble.weights[horizon])
            why = "no forecaster beats the naive rivals" if rival else "nothing to judge by yet"
            notes.append(f"{horizon_s} s: {why}; {what} is deployed")
        known = int(np.isfinite(table.actual_per_s[:, horizon]).sum())
        if known < MIN_ORIGINS:
            notes.append(
                f"{horizon_s} s: not judged, since {known} of {len(table.origins)} origins of the backtest have a "
                f"known peak and {MIN_ORIGINS} are needed; it is as uncertain as its forecasters expect, uncalibrated"
            )
    return Selection(ensemble, tuple(scores), tuple(notes))


def _known_from(table: BacktestTable) -> Ints:
    """Number of the first origin at which each peak was complete, shape (origins, horizons)."""
    starts = np.array([origin.timestamp() for origin in table.origins])
    ends = starts[:, None] + np.asarray(table.horizons_s, dtype=np.float64)
    return np.searchsorted(starts, ends.reshape(-1), side="left").reshape(ends.shape)


def deployed_peaks_per_s(peaks_by_name: Mapping[str, Floats], ensemble: Ensemble) -> Floats:
    """Calibrated peak quantiles of the mixture, shape (horizons, quantiles), from the forecasters' (by name, same
    shape).

    A fallback is not calibrated: the calibration is of the others.
    """
    averaged = averaged_peaks_per_s(peaks_by_name, ensemble.weights, ensemble.calibration.floor_per_s)
    return ordered(np.where(np.array(ensemble.held_back)[:, None], averaged, ensemble.calibration.applied(averaged)))


def averaged_peaks_per_s(peaks_by_name: Mapping[str, Floats], weights: Sequence[Weights], floor_per_s: float) -> Floats:
    """Peak quantiles of the weighted mixture, uncalibrated, shape (horizons, quantiles)."""
    return ordered(
        np.stack(
            [log_average({name: peaks_by_name[name][at] for name in w}, w, floor_per_s) for at, w in enumerate(weights)]
        )
    )


def log_average(peaks_per_s: Mapping[str, Floats], weights: Weights, floor_per_s: float) -> Floats:
    """Weighted geometric mean, with a floor so that one zero does not decide; all zero stays zero."""
    stacked = np.stack([peaks_per_s[name] for name in weights])
    shares = np.array(list(weights.values())).reshape(-1, *[1] * (stacked.ndim - 1))
    mean = np.exp((np.log(stacked + floor_per_s) * shares).sum(axis=0)) - floor_per_s
    return np.where((stacked == 0).all(axis=0), 0.0, np.maximum(mean, 0.0))
