"""The deployed model: the chosen forecasters, fitted, averaged and calibrated, ready to forecast from newer counts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import forecaster_rng
from forecasting.forecast import mixture_name
from forecasting.forecaster import FittedForecaster
from forecasting.peaks import path_quantiles, peak_quantiles_per_s
from forecasting.selection import Ensemble, Weights, deployed_peaks_per_s
from forecasting.surprise import STAND_IN, excess_s, lasting

NOW = 1_000_000
"""Number of the present origin's random stream, beyond any origin of a backtest."""
SWEEPS = 3
MAX_STRETCH = float(np.log(3))
"""Beyond a third or three times, calibrated peaks and paths disagree by more than their calibration."""


@dataclass(frozen=True)
class DeployedForecaster:
    """fitted: the forecasters by name. ensemble: weights per horizon, fallbacks and calibration.

    horizons_s: ascending. quantiles: of the peak. window_s: width of the training windows and of the `steps` that it
    forecasts.
    """

    window_s: int
    steps: int
    horizons_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    ensemble: Ensemble
    fitted: Mapping[str, FittedForecaster]

    def sample_paths(self, recent: ArrivalSeries, paths: int, seed: int) -> tuple[Floats, Floats]:
        """Joint paths, shape (paths, steps), and calibrated peak quantiles, shape (horizons, quantiles), per second.

        The paths come from the forecasters of the longest horizon, in proportion to their weights, stretched so that
        their peaks have the calibrated quantiles. Deterministic for a given seed and history.
        """
        return self.drawn(recent, paths, seed, self.excess_s(recent, seed))

    def drawn(self, recent: ArrivalSeries, paths: int, seed: int, excess_s: float) -> tuple[Floats, Floats]:
        """The same with an excess over what was expected that has lasted for excess_s, 0 without one."""
        ensemble = self.ensemble
        needed = {name for weights in ensemble.weights for name in weights}
        whole = set(ensemble.weights[-1])
        if excess_s:
            needed, whole = needed | {STAND_IN}, whole | {STAND_IN}
        given = {}
        for name in sorted(needed):
            # Forecasters used only for short horizons need not look further.
            steps = self.steps if name in whole else self._reach(ensemble, name)
            given[name] = self.fitted[name].paths_per_s(recent, steps, paths, forecaster_rng(seed, name, NOW))
        horizon_steps = [horizon_s // self.window_s for horizon_s in self.horizons_s]
        above = lasting(given[STAND_IN], excess_s, self.window_s, seed) if excess_s else None
        return joint_forecast(given, ensemble, horizon_steps, self.quantiles, above)

    def excess_s(self, recent: ArrivalSeries, seed: int) -> float:
        """How long the load has exceeded what was expected, up to now (forecasting.surprise); 0 if it does not."""
        return excess_s(self.fitted, recent, seed) if STAND_IN in self.fitted else 0.0

    def demoted(self, horizons_s: Collection[int]) -> "DeployedForecaster":
        """The same with the naive forecaster replacing the others at these horizons."""
        ensemble = self.ensemble
        out = [horizon_s in horizons_s for horizon_s in self.horizons_s]
        choices = zip(ensemble.weights, ensemble.naive, out, strict=True)
        weights = tuple({naive: 1.0} if demote else chosen for chosen, naive, demote in choices)
        held_back = tuple(held or demote for held, demote in zip(ensemble.held_back, out, strict=True))
        return replace(self, ensemble=replace(ensemble, weights=weights, held_back=held_back))

    def names(self) -> dict[int, str]:
        """Names of the forecasters per horizon, by descending weight."""
        return dict(zip(self.horizons_s, map(mixture_name, self.ensemble.weights), strict=True))

    def _reach(self, ensemble: Ensemble, name: str) -> int:
        used = [h for h, weights in zip(self.horizons_s, ensemble.weights, strict=True) if name in weights]
        return max(used) // self.window_s


def joint_forecast(
    given: Mapping[str, Floats],
    ensemble: Ensemble,
    horizon_steps: Sequence[int],
    quantiles: Sequence[float],
    above_per_s: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Joint paths and calibrated peak quantiles from the forecasters' paths, as in `DeployedForecaster.sample_paths`.

    given: paths by name, shape (paths, steps); paths that do not reach a horizon have no weight there. above_per_s: an
    excess over what was expected, as long as it lasts on each path (forecasting.surprise), below which nothing lies.
    """
    peaks_by_name = {name: _peaks(drawn, horizon_steps, quantiles) for name, drawn in given.items()}
    peaks = deployed_peaks_per_s(peaks_by_name, ensemble)
    joint = mixture(given, ensemble.weights[-1])
    paths = stretched(joint, horizon_steps, peaks, quantiles)
    if above_per_s is None:
        return paths, peaks
    above = peak_quantiles_per_s(above_per_s, horizon_steps, quantiles)
    return np.maximum(paths, above_per_s), np.maximum(peaks, above)


def _peaks(drawn: Floats, horizon_steps: Sequence[int], quantiles: Sequence[float]) -> Floats:
    reached = [steps for steps in horizon_steps if steps <= drawn.shape[1]]
    peaks = np.full((len(horizon_steps), len(quantiles)), np.nan)
    peaks[: len(reached)] = peak_quantiles_per_s(drawn, reached, quantiles)
    return peaks


def mixture(given: Mapping[str, Floats], weights: Weights) -> Floats:
    """A mixture of several sets of paths in proportion to their weights, shape (paths, steps)."""
    paths = next(iter(given.values())).shape[0]
    ends = np.round(np.cumsum(list(weights.values())) * paths).astype(np.int64)
    # Shares add up to 1 only approximately.
    ends[-1] = paths
    begins = [0, *ends[:-1].tolist()]
    return np.concatenate(
        [given[name][begin:end] for name, begin, end in zip(weights, begins, ends.tolist(), strict=True)]
    )


def stretched(paths_per_s: Floats, horizon_steps: Sequence[int], peaks_per_s: Floats, at: Sequence[float]) -> Floats:
    """Paths whose largest rates within each horizon have the given quantiles; zeros stay zero, ranks stay.

    horizon_steps: ascending. Each path is scaled according to its peak's rank, over the longest horizon first; shorter
    horizons then scale their own steps, and ever less those of the same time after them: at a horizon's end no path
    jumps. Factors of a horizon are limited to a third and three.
    """
    scaled = np.array(paths_per_s)
    levels = np.concatenate([[0.0], at, [1.0]])
    log_factors = np.zeros((len(horizon_steps), scaled.shape[0]))
    longest_first = list(zip(horizon_steps, peaks_per_s, log_factors, strict=True))[::-1]
    # A shorter horizon moves peaks of the longer ones, so that one sweep leaves these up to a fifth off.
    for steps, wanted, so_far in longest_first * SWEEPS:
        peaks = scaled[:, :steps].max(axis=1)
        present = path_quantiles(peaks[:, None], at)[0]
        usable = (present > 0) & (wanted > 0)
        logs = np.log(np.where(usable, wanted, 1.0)) - np.log(np.where(usable, present, 1.0))
        logs = np.concatenate([logs[:1], logs, logs[-1:]])
        rank = (np.argsort(np.argsort(peaks, kind="stable"), kind="stable") + 0.5) / peaks.size
        total = np.clip(so_far + np.interp(rank, levels, logs), -MAX_STRETCH, MAX_STRETCH)
        log_factor, so_far[:] = (total - so_far)[:, None], total
        scaled[:, :steps] *= np.exp(log_factor)
        fading = scaled[:, steps : 2 * steps]
        fading *= np.exp(log_factor * (1 - np.arange(1, fading.shape[1] + 1) / (steps + 1)))
    return scaled
