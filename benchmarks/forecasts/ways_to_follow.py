"""Other ways to weigh and calibrate, tried on kept peaks; none of them is in the product."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from kept_peaks import Constants

from forecasting.arrays import Flags, Floats, Ints
from forecasting.backtest import BacktestTable
from forecasting.calibration import STEP, Calibration, floor_per_s, spreads
from forecasting.models.time_grid import DAY_S
from forecasting.scoring import PeakLosses
from forecasting.selection import DEPLOYED, Ensembles
from forecasting.surprise import STAND_IN

LEVEL_HALF_LIFE_S = 2.5 * DAY_S


@dataclass(frozen=True)
class Fading:
    """How offsets fade: half_life in peaks, not at a peak above its quantile and the pause - 1 peaks after it.

    raised_alone: whether those below zero stay.
    """

    half_life: float
    pause: int = 1
    raised_alone: bool = False


@dataclass(frozen=True)
class Way:
    """fading: None for offsets that stay. by_level: whether losses are divided by the level of the peaks known at their
    origin. constants: put in place of the deployed ones.
    """

    fading: Fading | None = None
    by_level: bool = False
    constants: Constants = field(default_factory=dict)

    def ensembles(self, table: BacktestTable) -> Ensembles:
        return FollowingEnsembles(table, self)


FADINGS: Mapping[str, Fading] = {
    "offsets halve in 10 peaks": Fading(10),
    "after 10 peaks below, offsets halve in 10": Fading(10, pause=10),
    "raised offsets halve in 10 peaks": Fading(10, raised_alone=True),
    "after 10 peaks below, raised offsets halve in 10": Fading(10, pause=10, raised_alone=True),
}
LOSSES: Mapping[str, Way] = {"relative losses of 2.5 days": Way(by_level=True, constants={"HALF_LIFE_S": 2.5 * DAY_S})}
PRIORS: Mapping[str, Way] = {
    f"equal weights for {steadying} origins": Way(
        constants={"EXPECTED_RATIO": 1.0, "STEADYING_ORIGINS": float(steadying)}
    )
    for steadying in (24, 48)
}


def every_way() -> dict[str, Way]:
    """By name: each change alone, losses with each prior, and both ways to halve in 10 peaks with each of the rest."""
    rest = LOSSES | PRIORS
    rest |= {f"{losses}; {prior}": both(LOSSES[losses], PRIORS[prior]) for losses in LOSSES for prior in PRIORS}
    alone = {name: Way(fading) for name, fading in FADINGS.items()}
    combined = {
        f"{fading}; {name}": replace(way, fading=of)
        for fading, of in FADINGS.items()
        if of.pause == 1
        for name, way in rest.items()
    }
    return {DEPLOYED: Way()} | alone | rest | combined


def both(losses: Way, prior: Way) -> Way:
    return replace(losses, constants={**losses.constants, **prior.constants})


class FollowingEnsembles(Ensembles):
    """Ensembles that follow in another way."""

    def __init__(self, table: BacktestTable, way: Way) -> None:
        super().__init__(table)
        self._way = way
        self._level_per_s = levels_per_s(table, self._known_from, self._starts_s) if way.by_level else None

    def _losses_before(self, row: int) -> PeakLosses:
        losses = super()._losses_before(row)
        if self._level_per_s is None:
            return losses
        return replace(losses, per_s=losses.per_s / self._level_per_s[: losses.per_s.shape[1]])

    def _calibration(self, row: int, over: Flags) -> Calibration:
        learnt = super()._calibration(row, over)
        if self._way.fading is None:
            return learnt
        actual_per_s = np.where(over, self.table.actual_per_s, np.nan)
        return replace(learnt, offsets=faded_offsets(self.averaged_per_s, actual_per_s, learnt, self._way.fading))


def levels_per_s(table: BacktestTable, known_from: Ints, starts_s: Floats) -> Floats:
    """Mean of the peaks known at each origin, newer ones counting more; the median that persistence forecasts while
    none is known; shape (origins, horizons).
    """
    middle = int(np.abs(np.asarray(table.quantiles) - 0.5).argmin())
    levels = np.nan_to_num(table.peak_per_s[STAND_IN][:, :, middle])
    for row, start_s in enumerate(starts_s):
        known = (known_from <= row) & np.isfinite(table.actual_per_s)
        counts = np.where(known, 0.5 ** ((start_s - starts_s[:, None]) / LEVEL_HALF_LIFE_S), 0.0)
        sums = (counts * np.where(known, table.actual_per_s, 0.0)).sum(axis=0)
        mean = np.divide(sums, counts.sum(axis=0), out=levels[row].copy(), where=known.any(axis=0))
        levels[row] = np.maximum(mean, floor_per_s(np.where(known, table.actual_per_s, np.nan)))
    return levels


def faded_offsets(peaks_per_s: Floats, actual_per_s: Floats, learnt: Calibration, fading: Fading) -> Floats:
    """Offsets learnt as by forecasting.calibration that fade, shape (horizons, quantiles).

    learnt: the calibration without fading, for its floor and quantiles.
    """
    levels, floor, fade = np.asarray(learnt.quantiles), learnt.floor_per_s, 0.5 ** (1 / fading.half_life)
    offsets = np.zeros(learnt.offsets.shape)
    since = np.full(offsets.shape, fading.pause)
    for said, came in zip(peaks_per_s, actual_per_s, strict=True):
        log_said = np.log(said + floor)
        log_ratio = np.log(came + floor)[:, None] - log_said
        told = (np.isfinite(log_ratio).all(axis=1) & ((came > 0) | (said.max(axis=1) > 0)))[:, None]
        ratio = np.where(told, log_ratio, 0.0) / spreads(np.where(told, log_said, 0.0), learnt.quantiles)[:, None]
        above = ratio > offsets
        moved = offsets + STEP * np.where(above, levels, levels - 1)
        since = np.where(told, np.where(above, 0, since + 1), since)
        fades = (since >= fading.pause) & ((moved > 0) | (not fading.raised_alone))
        offsets = np.where(told, np.where(fades, moved * fade, moved), offsets)
    return offsets
