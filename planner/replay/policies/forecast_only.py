"""A scaler that only follows the forecast, like predictive autoscalers of replica counts."""

from collections.abc import Mapping

from forecasting.forecast import Forecast
from planner.demand import Demand, demand
from planner.errors import PlanError
from planner.replay.forecasts import Forecasts
from planner.replay.need import Need
from planner.replay.policy import Decision, Seen


class ForecastOnly:
    """Each slot gets the cheapest plan for the quantile of its peak, ahead_s before it begins.

    Clouds' predictive scaling and predictive HPAs do no more: no backlog, no price of a rescale, no dwell time.
    """

    name = "forecast-only"
    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, need: Need, forecasts: Forecasts, ahead_s: float, slot_s: int, quantile: float) -> None:
        self._need, self._forecasts, self._ahead_s = need, forecasts, ahead_s
        self._slot_s, self._quantile = slot_s, quantile
        self._newest: tuple[Mapping[str, Forecast], Demand] | None = None
        self._decided: tuple[Demand, int, int, Decision] | None = None

    def decide(self, seen: Seen) -> Decision | None:
        forecasts = self._forecasts.at(seen.at_s)
        if not forecasts:
            return None
        try:
            if self._newest is None or self._newest[0] is not forecasts:
                self._newest = forecasts, demand(forecasts, slot_s=self._slot_s, quantile=self._quantile)
        except PlanError:
            return None
        wanted = self._newest[1]
        # The plan must carry the present slot, and those that begin before a change would be done.
        first = max(0, wanted.slot_at(seen.at_s))
        last = max(first + 1, min(wanted.slot_at(seen.at_s + self._ahead_s) + 1, wanted.slots))
        if first >= wanted.slots:
            return None
        known = self._decided
        if known is None or known[0] is not wanted or known[1:3] != (first, last):
            load = wanted.peak_per_s(first, last)
            rates = ", ".join(f"{rate:.3g}/s at {source}" for source, rate in load.items())
            why = f"p{self._quantile * 100:g} of the coming slots is {rates}"
            known = self._decided = wanted, first, last, Decision(self._need.plan(load), why)
        return known[3]
