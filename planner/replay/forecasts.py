"""Forecasts for policies: what the pipeline would have made at a moment, or the true arrivals."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from forecasting.forecast import HORIZONS_S, QUANTILES, Forecast
from planner.replay.load import Load


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
        start_s = -(-issued_s // self._step_s) * self._step_s
        per_step, steps = self._step_s // 60, self._horizon_s // self._step_s
        first = round((start_s - self._load.start_s) / 60)
        every = self._load.rate_per_s[source]
        # After the end, the last rate continues.
        minutes = np.arange(first, first + steps * per_step).clip(0, every.size - 1)
        # The largest minute of each step, which a plan must carry.
        came = every[minutes].reshape(steps, per_step).max(axis=1)
        horizons = [h for h in HORIZONS_S if h <= self._horizon_s]
        peaks = {h: np.full(len(QUANTILES), came[: max(1, h // self._step_s)].max()) for h in horizons}
        at = datetime.fromtimestamp(start_s, UTC)
        return Forecast(
            issued_at=datetime.fromtimestamp(issued_s, UTC),
            topology=self._topology,
            source=source,
            start=at,
            step_s=self._step_s,
            quantiles=QUANTILES,
            rate_per_s=np.repeat(came[:, None], len(QUANTILES), axis=1),
            peak_per_s=peaks,
            paths_per_s=came[None],
            forecaster=dict.fromkeys(peaks, "truth"),
            trained_from=at,
            trained_to=at,
            history_digest="",
            seed=0,
        )
