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
from forecasting.selection import Ensemble, Weights, after_surprise, deployed_peaks_per_s
from forecasting.surprise import STAND_IN, surprised

NOW = 1_000_000
"""Number of the present origin's random stream, beyond any origin of a backtest."""


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
        return replace(self, ensemble=self.ensemble_at(recent, seed)).drawn(recent, paths, seed)

    def drawn(self, recent: ArrivalSeries, paths: int, seed: int) -> tuple[Floats, Floats]:
        """Like sample_paths, without the check for a surprising last hour."""
        ensemble = self.ensemble
        needed = {name for weights in ensemble.weights for name in weights}
        longest = ensemble.weights[-1]
        given = {}
        for name in sorted(needed):
            # Forecasters used only for short horizons need not look further.
            steps = self.steps if name in longest else self._reach(ensemble, name)
            given[name] = self.fitted[name].paths_per_s(recent, steps, paths, forecaster_rng(seed, name, NOW))
        horizon_steps = [horizon_s // self.window_s for horizon_s in self.horizons_s]
        return joint_forecast(given, ensemble, horizon_steps, self.quantiles)

    def ensemble_at(self, recent: ArrivalSeries, seed: int) -> Ensemble:
        """The ensemble or, after a surprise, the one that replaces it."""
        if STAND_IN in self.fitted and surprised(self.fitted, recent, seed):
            return after_surprise(self.ensemble, STAND_IN)
        return self.ensemble

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
    given: Mapping[str, Floats], ensemble: Ensemble, horizon_steps: Sequence[int], quantiles: Sequence[float]
) -> tuple[Floats, Floats]:
    """Joint paths and calibrated peak quantiles from the forecasters' paths, as in `DeployedForecaster.sample_paths`.

    given: paths by name, shape (paths, steps); paths that do not reach a horizon have no weight there.
    """
    peaks_by_name = {name: _peaks(drawn, horizon_steps, quantiles) for name, drawn in given.items()}
    peaks = deployed_peaks_per_s(peaks_by_name, ensemble)
    joint = mixture(given, ensemble.weights[-1])
    return stretched(joint, horizon_steps, peaks, quantiles), peaks


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
    horizons then scale their own steps. Factors are limited to a third and three: beyond that, the disagreement is not
    one of calibration.
    """
    begins = [0, *horizon_steps[:-1]]
    # Largest rates between the ends of two horizons, and what their steps are scaled by; shape (paths, horizons).
    largest = np.maximum.reduceat(paths_per_s[:, : horizon_steps[-1]], begins, axis=1)
    factors = np.ones((paths_per_s.shape[0], len(horizon_steps) + 1))
    levels = np.concatenate([[0.0], at, [1.0]])
    for within in range(len(horizon_steps), 0, -1):
        peaks, wanted = largest[:, :within].max(axis=1), peaks_per_s[within - 1]
        present = path_quantiles(peaks[:, None], at)[0]
        usable = (present > 0) & (wanted > 0)
        logs = np.log(np.where(usable, wanted, 1.0)) - np.log(np.where(usable, present, 1.0))
        logs = np.clip(np.concatenate([logs[:1], logs, logs[-1:]]), -np.log(3), np.log(3))
        rank = (np.argsort(np.argsort(peaks, kind="stable"), kind="stable") + 0.5) / peaks.size
        factor = np.exp(np.interp(rank, levels, logs))[:, None]
        largest[:, :within] *= factor
        factors[:, :within] *= factor
    # Steps beyond the longest horizon stay as they are.
    widths = np.diff([0, *horizon_steps, max(paths_per_s.shape[1], horizon_steps[-1])])
    return paths_per_s * np.repeat(factors, widths, axis=1)
