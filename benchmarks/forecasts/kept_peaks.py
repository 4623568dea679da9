"""Every forecaster's peaks of a series at each origin, kept in a folder, so that weighing them again needs no fit."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

import forecasting
from forecasting import calibration, selection
from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import BacktestTable, empty_table, recent_at, replayed
from forecasting.forecast import QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.one_thread import one_thread
from forecasting.peaks import peak_quantiles_per_s
from forecasting.prequential import (
    MAX_HISTORY_S,
    Origins,
    Predicted,
    prequential_horizons_s,
    prequential_origins,
)
from forecasting.selection import DEPLOYED, Ensembles, deployed_peaks_per_s
from forecasting.surprise import STAND_IN, excess_s, lasting

PATHS, SEED = 400, 7
HOMES: Mapping[str, ModuleType] = {
    "SHARPNESS": selection,
    "HALF_LIFE_S": selection,
    "STEADYING_ORIGINS": selection,
    "EXPECTED_RATIO": selection,
    "STEP": calibration,
}
"""Module of each constant of weights and calibration that was chosen on traces."""

Constants = Mapping[str, float]


@dataclass(frozen=True)
class KeptPeaks:
    """table: of all origins, those that only teach included. above_per_s: peak quantiles of loads that exceed what was
    expected, while that lasts, shape (origins, horizons, quantiles); 0 elsewhere.
    """

    series: ArrivalSeries
    origins: Origins
    table: BacktestTable
    above_per_s: Floats

    def deployed(self, constants: Constants, ensembles_of: Callable[[BacktestTable], Ensembles] = Ensembles) -> Floats:
        """Peak quantiles that these constants would have deployed, shape (origins, horizons, quantiles); NaN at origins
        that only teach. ensembles_of: what weighs and calibrates.
        """
        table = self.table
        ensembles = ensembles_of(table)
        said = np.full((len(table.origins), len(table.horizons_s), len(table.quantiles)), np.nan)
        with put_in(constants):
            for row, origin in enumerate(self.origins.at):
                given = {name: peaks[row] for name, peaks in table.peak_per_s.items() if np.isfinite(peaks[row]).all()}
                if not table.naive.intersection(given):
                    continue
                ensemble = ensembles.take(row, given)
                if origin >= self.origins.told_from:
                    said[row] = np.maximum(deployed_peaks_per_s(given, ensemble), self.above_per_s[row])
        return said

    def predicted(self, deployed: Floats) -> list[Predicted]:
        """Predictions of the forecasters and of `deployed` at the scored origins."""
        told = []
        for row, origin in enumerate(self.origins.at):
            if np.isfinite(deployed[row]).all():
                every = {name: peaks[row] for name, peaks in self.table.peak_per_s.items()} | {DEPLOYED: deployed[row]}
                told.append(Predicted(origin, {n: p for n, p in every.items() if np.isfinite(p).all()}, {}, ()))
        return told


@contextmanager
def put_in(constants: Constants) -> Iterator[None]:
    """Replace the deployed constants by these within the context."""
    before = deployed_constants()
    try:
        for name, value in constants.items():
            setattr(HOMES[name], name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(HOMES[name], name, value)


def deployed_constants() -> dict[str, float]:
    return {name: float(getattr(home, name)) for name, home in HOMES.items()}


def kept_peaks(series: ArrivalSeries, count: int, folder: Path) -> KeptPeaks:
    """Peaks at `count` origins and the teaching ones before them, computed once per series and version of the code.

    Raises ForecastError for a series that is too short.
    """
    horizons_s = prequential_horizons_s(series)
    at = prequential_origins(series, count, max(horizons_s))
    forecasters = all_forecasters(prophet=False)
    table = empty_table(series, forecasters, at.at, horizons_s, QUANTILES, {})
    file = folder / f"peaks-{_digest(series, at)}.npz"
    if file.exists():
        with np.load(file) as arrays:
            table.peak_per_s.update({name: arrays[name] for name in table.peak_per_s})
            return KeptPeaks(series, at, table, arrays["above_per_s"])
    steps = [horizon_s // series.window_s for horizon_s in horizons_s]
    above_per_s = np.zeros((len(at.at), len(horizons_s), len(QUANTILES)))
    with one_thread():
        for row, drawn_paths, fitted in replayed(
            series, forecasters, at.at, max(steps), PATHS, SEED, table.refusals, None, MAX_HISTORY_S
        ):
            given = dict(drawn_paths)
            for name, drawn in given.items():
                table.peak_per_s[name][row] = peak_quantiles_per_s(drawn, steps, QUANTILES)
            if at.at[row] >= at.told_from and STAND_IN in given:
                lasted_s = excess_s(fitted, recent_at(series, at.at[row], MAX_HISTORY_S), SEED)
                above = lasting(given[STAND_IN], lasted_s, series.window_s, SEED)
                above_per_s[row] = peak_quantiles_per_s(above, steps, QUANTILES) if lasted_s else 0.0
    folder.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    with part.open("wb") as target:
        np.savez(target, above_per_s=above_per_s, **table.peak_per_s)
    part.replace(file)
    return KeptPeaks(series, at, table, above_per_s)


def _digest(series: ArrivalSeries, at: Origins) -> str:
    """Digest of the counts, the origins and the code, without the modules that only weigh and calibrate."""
    digest = hashlib.sha256(series.digest().encode() + repr(at).encode())
    root = Path(forecasting.__file__).parent
    weighing = {Path(str(home.__file__)) for home in HOMES.values()}
    for file in sorted(root.rglob("*.py")):
        if file not in weighing:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
