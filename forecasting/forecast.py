"""A forecast as a value: quantiles of the rate per step, of the peak per horizon, and the sample paths behind them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from pydantic import ConfigDict, with_config

from forecasting.arrays import Floats
from forecasting.errors import ForecastError

QUANTILES: tuple[float, ...] = (0.5, 0.9, 0.95, 0.99)
HORIZONS_S: tuple[int, ...] = (900, 3600, 21600, 86400)
MAX_PER_S = 1e12
"""Far above any real rate: a larger one is a mistake."""


_AND = " + "


def mixture_name(parts: Iterable[str]) -> str:
    """The name of a mixture of forecasters, by descending weight."""
    return _AND.join(parts)


def mixture_parts(name: str) -> tuple[str, ...]:
    """The forecasters of a mixture.

    >>> mixture_parts(mixture_name(["ridge", "week_naive"]))
    ('ridge', 'week_naive')
    """
    return tuple(name.split(_AND)) if name else ()


# JSON has no infinity, so it is written as text, as in forecast.json.
@with_config(ConfigDict(extra="forbid", ser_json_inf_nan="strings"))
@dataclass(frozen=True)
class BacktestScore:
    """A forecaster's score at one horizon, over rolling origins after its training data.

    pinball_per_s: mean pinball loss of the peak, averaged over p90, p95 and p99, in events per second.
    ratio: pinball_per_s over that of the better naive rival (seasonal naive or persistence); below 1 wins.
    coverage: share of origins whose peak stayed below the p95 of the peak.
    """

    forecaster: str
    horizon_s: int
    pinball_per_s: float
    ratio: float
    coverage: float
    origins: int
    allowed: bool
    reason: str


@dataclass(frozen=True)
class Forecast:
    """Forecast arrivals at one source, as known at issued_at.

    start: start of the first step; step_s: width of a step in seconds.
    rate_per_s: shape (steps, quantiles), pointwise quantiles of the rate in events per second.
    peak_per_s: per horizon in seconds, shape (quantiles,): quantiles of the largest rate within the horizon.
    paths_per_s: shape (paths, steps), joint sample paths, from which quantiles of any maximum follow.
    forecaster: deployed one per horizon in seconds. scores: of the backtest that decided it.
    trained_from, trained_to, history_digest: identify the history used. seed: reproduces the forecast.
    run_id, model_version: in the tracking store; empty until tracked.
    history_snapshot: the commit of the history; empty if it came from no store.
    notes: for readers; sibling_notes: those on borrowed shapes.
    Raises ForecastError for crossing or non-ascending quantiles, impossible rates, missing peaks, times without a zone,
    or mismatched shapes.
    """

    issued_at: datetime
    topology: str
    source: str
    start: datetime
    step_s: int
    quantiles: tuple[float, ...]
    rate_per_s: Floats
    peak_per_s: Mapping[int, Floats]
    paths_per_s: Floats
    forecaster: Mapping[int, str]
    trained_from: datetime
    trained_to: datetime
    history_digest: str
    seed: int
    scores: tuple[BacktestScore, ...] = ()
    run_id: str = ""
    model_version: str = ""
    history_snapshot: str = ""
    notes: tuple[str, ...] = ()
    sibling_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = f"forecast of source {self.source!r} issued at {self.issued_at}"
        if self.step_s < 1 or any(horizon_s < 1 for horizon_s in self.peak_per_s):
            raise ForecastError(f"{where}: steps of {self.step_s} s, peaks within {tuple(self.peak_per_s)} s")
        steps = [*self.quantiles]
        if not steps or sorted(set(steps)) != steps or not 0 < steps[0] <= steps[-1] < 1:
            raise ForecastError(f"{where}: quantiles {self.quantiles} are not ascending between 0 and 1")
        for moment in (self.issued_at, self.start, self.trained_from, self.trained_to):
            if moment.tzinfo is None:
                raise ForecastError(f"{where}: {moment} has no time zone")
        if self.rate_per_s.ndim != 2 or self.rate_per_s.shape[1] != len(self.quantiles):
            raise ForecastError(f"{where}: rates of shape {self.rate_per_s.shape} for {len(self.quantiles)} quantiles")
        if self.paths_per_s.ndim != 2 or self.paths_per_s.shape[1] != self.rate_per_s.shape[0]:
            raise ForecastError(
                f"{where}: paths of shape {self.paths_per_s.shape} for {self.rate_per_s.shape[0]} steps"
            )
        peaks = {f"peaks within {horizon_s} s": peak for horizon_s, peak in self.peak_per_s.items()}
        if ragged := [name for name, peak in peaks.items() if peak.shape != (len(self.quantiles),)]:
            raise ForecastError(f"{where}: {ragged[0]} for other than {len(self.quantiles)} quantiles")
        rates_by_name = {"rates": self.rate_per_s} | peaks
        for name, values in (*rates_by_name.items(), ("paths", self.paths_per_s)):
            # NaN is neither.
            if values.size and not (values.min() >= 0 and values.max() <= MAX_PER_S):
                raise ForecastError(f"{where}: {name} hold a negative or non-finite value, or one above {MAX_PER_S:g}")
        for name, values in rates_by_name.items():
            if (np.diff(values, axis=-1) < 0).any():
                raise ForecastError(f"{where}: quantiles of the {name} cross")

    @property
    def end(self) -> datetime:
        return self.start + timedelta(seconds=self.step_s * self.rate_per_s.shape[0])

    def step_starts(self) -> list[datetime]:
        return [self.start + timedelta(seconds=self.step_s * i) for i in range(self.rate_per_s.shape[0])]

    def peak_quantile_per_s(self, horizon_s: int, quantile: float) -> float:
        """The quantile of the peak within a horizon. Raises ForecastError if it was not forecast."""
        if horizon_s not in self.peak_per_s or quantile not in self.quantiles:
            raise ForecastError(
                f"no peak quantile {quantile} within {horizon_s} s; forecast are "
                f"{self.quantiles} within {tuple(self.peak_per_s)} s"
            )
        return float(self.peak_per_s[horizon_s][self.quantiles.index(quantile)])


def grid_conflict(forecasts: Mapping[str, Forecast]) -> str:
    """Why forecasts of several sources cannot be used together, and the remedy; empty where start, step and number of
    steps are the same.
    """
    if len({(each.start, each.step_s, each.paths_per_s.shape[1]) for each in forecasts.values()}) <= 1:
        return ""
    return f"forecasts of {', '.join(sorted(forecasts))} are on different grids; forecast them together"
