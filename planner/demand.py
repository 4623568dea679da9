"""Demand: the load to plan for in each slot of a forecast, and sample paths of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from forecasting.forecast import Forecast, grid_conflict
from modeling.arrays import Floats
from planner.errors import PlanError


@dataclass(frozen=True)
class Demand:
    """The load to plan for per slot of slot_s seconds, from start on.

    quantile: of the peak within each slot. rate_per_s: per source, shape (slots,), events per second.
    """

    start: datetime
    slot_s: int
    quantile: float
    rate_per_s: Mapping[str, Floats]

    @property
    def slots(self) -> int:
        return int(next(iter(self.rate_per_s.values())).size)

    def peak_per_s(self, first: int, last: int) -> dict[str, float]:
        """The largest demand of each source over the slots [first, last)."""
        return {source: float(rates[first:last].max()) for source, rates in self.rate_per_s.items()}

    def slot_at(self, at_s: float) -> int:
        """Index of the slot that holds a moment, in epoch seconds; negative before the first."""
        return int((at_s - self.start.timestamp()) // self.slot_s)


def demand(forecasts: Mapping[str, Forecast], *, slot_s: int, quantile: float) -> Demand:
    """The quantile of each slot's peak, from the joint sample paths.

    Pointwise quantiles would be too low: the largest of several steps exceeds each step's quantile. The paths have the
    calibrated peaks of their horizons (forecasting.deployed). Raises PlanError when forecasts are on different grids or
    a slot is not a multiple of the step.
    """
    if not forecasts:
        raise PlanError("no forecast to plan for; run `forescale forecast` first")
    if conflict := grid_conflict(forecasts):
        raise PlanError(conflict)
    one = next(iter(forecasts.values()))
    start, step_s, steps = one.start, one.step_s, one.paths_per_s.shape[1]
    if slot_s % step_s or steps * step_s < slot_s:
        raise PlanError(f"slot of {slot_s} s: give a multiple of the forecast's step of {step_s} s within its horizon")
    per_slot = slot_s // step_s
    slots = steps // per_slot
    rates = {}
    for source, forecast in forecasts.items():
        peaks = forecast.paths_per_s[:, : slots * per_slot].reshape(-1, slots, per_slot).max(axis=2)
        rates[source] = np.quantile(peaks, quantile, axis=0)
    return Demand(start, slot_s, quantile, rates)


def demand_paths(forecasts: Mapping[str, Forecast]) -> dict[str, Floats]:
    """Sample paths of the demand per source, shape (paths, steps), scaled to the calibrated peaks of the longest
    horizon, where they end.

    Each path is scaled by calibrated over raw quantile of the peak at its own rank, so that the peaks of all paths have
    the calibrated quantiles. Path n of one source belongs to path n of the others (forecasting.joined_paths). Raises
    PlanError when forecasts are on different grids, or have no paths within the horizon.
    """
    if conflict := grid_conflict(forecasts):
        raise PlanError(conflict)
    count = min((forecast.paths_per_s.shape[0] for forecast in forecasts.values()), default=0)
    found = {}
    for source, forecast in forecasts.items():
        horizon_s = max(forecast.peak_per_s)
        steps = horizon_s // forecast.step_s
        if count == 0 or steps == 0:
            raise PlanError(
                f"forecast of source {source!r} has no sample paths of a step within {horizon_s} s; forecast again"
            )
        paths = forecast.paths_per_s[:, :steps]
        peaks = paths.max(axis=1)
        raw = np.quantile(peaks, forecast.quantiles)
        ratio = np.where(raw > 0, forecast.peak_per_s[horizon_s] / np.where(raw > 0, raw, 1.0), 1.0)
        ranks = peaks.argsort().argsort() / max(1, peaks.size - 1)
        found[source] = (paths * np.interp(ranks, forecast.quantiles, ratio)[:, None])[:count]
    return found
