"""Forecasts for policies: what the pipeline would have made at a moment, or the true arrivals."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from forecasting.forecast import HORIZONS_S, QUANTILES, Forecast
from modeling.arrays import Floats, Ints
from planner.replay.load import MINUTE_S, Load

LEVEL_PATHS = 200
DAY = 24 * 60
"""Minutes of a day."""


class Forecasts(Protocol):
    """Forecasts by source, as known at a moment."""

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        """The newest that were available by then; empty if there are none."""
        ...


class PerfectForecasts:
    """The true arrivals: an upper bound on the value of better forecasts, not available in practice."""

    def __init__(self, topology: str, load: Load, step_s: int, horizon_s: int, every_s: float = 3600.0) -> None:
        self._topology, self._load, self._step_s, self._horizon_s = topology, load, step_s, horizon_s
        self._every_s = every_s
        self._known: dict[int, Mapping[str, Forecast]] = {}

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        issued_s = int(at_s // self._every_s * self._every_s)
        if issued_s not in self._known:
            self._known = {issued_s: {s: self._made(issued_s, s) for s in self._load.rate_per_s}}
        return self._known[issued_s]

    def _made(self, issued_s: int, source: str) -> Forecast:
        first = round((_start_s(issued_s, self._step_s) - self._load.start_s) / MINUTE_S)
        per_step, steps = self._step_s // MINUTE_S, self._horizon_s // self._step_s
        every = self._load.rate_per_s[source]
        # After the end, the last rate continues.
        minutes = np.arange(first, first + steps * per_step).clip(0, every.size - 1)
        # The largest minute of each step, which a plan must carry.
        came = every[minutes].reshape(steps, per_step).max(axis=1)
        return _forecast(self._topology, source, issued_s, self._step_s, came[None])


class LevelForecasts:
    """The mean rate that each hour truly has; within the hour, the shape that the same hour had on earlier days.

    It bounds what a better forecast of the level is worth: spikes and noise within an hour stay as unknown as they are.
    Each path draws one earlier day for each day of the horizon, the same one for all sources. past: what is known
    before the load, at least a day of it; what the replay has shown by then is drawn from too.
    """

    def __init__(
        self, topology: str, load: Load, past: Load, step_s: int, horizon_s: int, every_s: float = 3600.0
    ) -> None:
        self._topology, self._step_s, self._horizon_s, self._every_s = topology, step_s, horizon_s, every_s
        self._start_s = past.start_s
        rates = {s: np.concatenate([past.rate_per_s[s], load.rate_per_s[s]]) for s in load.rate_per_s}
        self._levels = {s: _hourly_means(each, past.start_s) for s, each in rates.items()}
        self._shapes = {
            s: np.divide(each, self._levels[s], out=np.ones_like(each), where=self._levels[s] > 0)
            for s, each in rates.items()
        }
        self._known: dict[int, Mapping[str, Forecast]] = {}

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        issued_s = int(at_s // self._every_s * self._every_s)
        if issued_s not in self._known:
            start_s = _start_s(issued_s, self._step_s)
            minutes = self._drawn(issued_s, start_s)
            self._known = {
                issued_s: {
                    source: _forecast(
                        self._topology, source, issued_s, self._step_s, self._paths(source, start_s, minutes)
                    )
                    for source in self._levels
                }
            }
        return self._known[issued_s]

    def _drawn(self, issued_s: int, start_s: int) -> Ints:
        """Minutes of earlier days, since the start of the past, that stand for those of the horizon; shape (paths,
        minutes).
        """
        count = self._horizon_s // self._step_s * self._step_s // MINUTE_S
        first = (start_s - self._start_s) // MINUTE_S
        later = int(start_s > issued_s)  # the last day before a start that is ahead is not known whole
        days = count // DAY + 1
        choices = max(1, first // DAY - later)
        back = np.random.default_rng(issued_s).integers(0, choices, size=(LEVEL_PATHS, days)) + np.arange(days)
        ahead = np.arange(count)
        return np.asarray(first + ahead - (1 + later + back[:, ahead // DAY]) * DAY)

    def _paths(self, source: str, start_s: int, minutes: Ints) -> Floats:
        """Rates per second, shape (paths, steps): the largest minute of each step."""
        levels, shapes = self._levels[source], self._shapes[source]
        first = (start_s - self._start_s) // MINUTE_S
        # After the end, the last level continues.
        ahead = levels[np.arange(first, first + minutes.shape[1]).clip(0, levels.size - 1)]
        rates_per_s = ahead * shapes[minutes.clip(0)]
        return np.asarray(rates_per_s.reshape(len(rates_per_s), -1, self._step_s // MINUTE_S).max(axis=2))


def _hourly_means(rates_per_s: Floats, start_s: int) -> Floats:
    """The mean rate of each minute's hour, shape (minutes,)."""
    _, hour = np.unique((np.arange(rates_per_s.size) + start_s // MINUTE_S) // 60, return_inverse=True)
    return np.asarray((np.bincount(hour, rates_per_s) / np.bincount(hour))[hour])


def _start_s(issued_s: int, step_s: int) -> int:
    return -(-issued_s // step_s) * step_s


def _forecast(topology: str, source: str, issued_s: int, step_s: int, paths: Floats) -> Forecast:
    """paths: rates per second, shape (paths, steps)."""
    horizons = [h for h in HORIZONS_S if h <= paths.shape[1] * step_s]
    peaks = {h: np.quantile(paths[:, : max(1, h // step_s)].max(axis=1), QUANTILES) for h in horizons}
    at = datetime.fromtimestamp(_start_s(issued_s, step_s), UTC)
    return Forecast(
        issued_at=datetime.fromtimestamp(issued_s, UTC),
        topology=topology,
        source=source,
        start=at,
        step_s=step_s,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(paths, QUANTILES, axis=0).T,
        peak_per_s=peaks,
        paths_per_s=paths,
        forecaster=dict.fromkeys(peaks, "truth"),
        trained_from=at,
        trained_to=at,
        history_digest="",
        seed=0,
    )
