"""Daedalus' rule: the smallest plan that carries the forecast's maximum and recovers in ten minutes."""

import math
from collections.abc import Mapping

from forecasting.forecast import Forecast
from planner.replay.forecasts import Forecasts
from planner.replay.need import Need
from planner.replay.policy import Decision, Seen

HORIZON_S = 900.0
RECOVERY_S = 600.0


class Daedalus:
    """The rule of the paper (Pfister et al., ICPE 2024): of all scale-outs the smallest one whose capacity exceeds the
    forecast's maximum over 15 minutes, and that recovers within 600 s of a rescale: downtime, and then the backlog of
    now and of the arrivals meanwhile.

    After a rescale it waits for that recovery, at most 600 s. Its best form: the forecast is this project's own (the
    median) instead of an ARIMA refitted each minute, and the plan gives each operator what it needs, where the paper
    scales all equally. need: without headroom, as the paper adds none.
    """

    name = "daedalus"
    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, need: Need, forecasts: Forecasts, downtime_s: float) -> None:
        self._need, self._forecasts, self._downtime_s = need, forecasts, downtime_s
        self._acted_s = -math.inf

    def decide(self, seen: Seen) -> Decision | None:
        known = seen.measured.last(300.0)
        if seen.changing or not known.minutes:
            return None
        waiting = float(known.backlog[-1].sum())
        if seen.at_s < max(self._acted_s, seen.running_since_s) + RECOVERY_S and waiting > 1e-6:
            return None
        forecasts = self._forecasts.at(seen.at_s)
        load = {}
        for at, source in enumerate(self._need.topology.sources):
            now = float(known.arrivals_per_s[-1, at])
            peak = max(now, self._coming_per_s(forecasts.get(source), seen.at_s))
            backlog = float(known.backlog[-1, at]) + now * self._downtime_s
            load[source] = max(peak, now + backlog / max(60.0, RECOVERY_S - self._downtime_s))
        plan = self._need.plan(load)
        if dict(plan) == dict(seen.plan):
            return None
        self._acted_s = seen.at_s
        rates = ", ".join(f"{rate:.3g}/s at {source}" for source, rate in load.items())
        return Decision(plan, f"the next 15 minutes, and recovery within 600 s, need a capacity of {rates}")

    @staticmethod
    def _coming_per_s(forecast: Forecast | None, at_s: float) -> float:
        if forecast is None:
            return 0.0
        first = max(0, int((at_s - forecast.start.timestamp()) // forecast.step_s))
        last = max(first + 1, math.ceil((at_s + HORIZON_S - forecast.start.timestamp()) / forecast.step_s))
        coming = forecast.rate_per_s[first:last, forecast.quantiles.index(0.5)]
        return float(coming.max()) if coming.size else 0.0
