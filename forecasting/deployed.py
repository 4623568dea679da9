"""What is deployed: the chosen forecasters, fitted, averaged and calibrated, ready to be asked from newer counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import forecaster_rng
from forecasting.calibration import Calibration, ordered
from forecasting.forecaster import FittedForecaster
from forecasting.peaks import peak_quantiles_per_s
from forecasting.selection import log_average

Floats = npt.NDArray[np.float64]

NOW = 1_000_000
"""Number of the present origin among the random streams: beyond any origin of a backtest."""


@dataclass(frozen=True)
class DeployedForecaster:
    """fitted: the chosen forecasters by name. chosen: names per horizon in seconds, shortest first.

    quantiles: of the peak. window_s: width of the windows it learnt from and of the `steps` that it forecasts.
    """

    window_s: int
    steps: int
    quantiles: tuple[float, ...]
    chosen: Mapping[int, tuple[str, ...]]
    fitted: Mapping[str, FittedForecaster]
    calibration: Calibration

    def ask(self, recent: ArrivalSeries, paths: int, seed: int) -> tuple[Floats, Floats]:
        """Joint paths, shape (paths, steps), and calibrated peak quantiles, shape (horizons, quantiles), per second.

        The paths are those of the forecasters chosen for the longest horizon, in equal parts, stretched so that their
        peaks have the calibrated quantiles. Same seed and same history, same answer.
        """
        horizon_steps = [horizon_s // self.window_s for horizon_s in self.chosen]
        given = {
            name: forecaster.paths_per_s(recent, self.steps, paths, forecaster_rng(seed, name, NOW))
            for name, forecaster in self.fitted.items()
        }
        return joint_forecast(given, list(self.chosen.values()), horizon_steps, self.quantiles, self.calibration)


def joint_forecast(
    given: Mapping[str, Floats],
    chosen: Sequence[Sequence[str]],
    horizon_steps: Sequence[int],
    quantiles: Sequence[float],
    learnt: Calibration,
) -> tuple[Floats, Floats]:
    """Joint paths and calibrated peak quantiles, as DeployedForecaster.ask gives them, of what forecasters gave.

    given: paths by name, shape (paths, steps). chosen: names per horizon.
    """
    said = {name: peak_quantiles_per_s(drawn, horizon_steps, quantiles) for name, drawn in given.items()}
    averaged = [
        log_average(np.stack([said[name][number] for name in names]), learnt.floor_per_s)
        for number, names in enumerate(chosen)
    ]
    peaks = learnt.applied(ordered(np.stack(averaged)))
    drawn = [given[name] for name in chosen[int(np.argmax(horizon_steps))]]
    joint = mixture(drawn, drawn[0].shape[0])
    return stretched(joint, horizon_steps, peaks, quantiles), peaks


def mixture(given: Sequence[Floats], paths: int) -> Floats:
    """Equal parts of several sets of paths, shape (paths, steps)."""
    parts = np.array_split(np.arange(paths), len(given))
    return np.concatenate([drawn[part] for drawn, part in zip(given, parts, strict=True)])


def stretched(paths_per_s: Floats, horizon_steps: Sequence[int], peaks_per_s: Floats, at: Sequence[float]) -> Floats:
    """Paths whose largest rates within each horizon have the given quantiles; zeros stay zero, ranks stay.

    Each path is scaled by what its peak's rank calls for, over the longest horizon first; the shorter ones then scale
    their own steps. A factor lies within a third and three: beyond it, paths and quantiles disagree about more than
    calibration.
    """
    scaled = paths_per_s.copy()
    levels = np.concatenate([[0.0], at, [1.0]])
    for steps, wanted in sorted(zip(horizon_steps, peaks_per_s, strict=True), key=lambda pair: -pair[0]):
        peaks = scaled[:, :steps].max(axis=1)
        present = np.quantile(peaks, at)
        usable = (present > 0) & (wanted > 0)
        logs = np.log(np.where(usable, wanted, 1.0)) - np.log(np.where(usable, present, 1.0))
        logs = np.clip(np.concatenate([logs[:1], logs, logs[-1:]]), -np.log(3), np.log(3))
        rank = (np.argsort(np.argsort(peaks, kind="stable"), kind="stable") + 0.5) / peaks.size
        scaled[:, :steps] *= np.exp(np.interp(rank, levels, logs))[:, None]
    return scaled
