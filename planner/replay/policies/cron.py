"""Scheduled scaling: each hour gets what the same hour of last week needed."""

from collections.abc import Mapping

import numpy as np

from planner.replay.need import Need
from planner.replay.policy import Decision, Seen

HOUR_S, WEEK_S = 3600.0, 7 * 86400.0


class CronByLastWeek:
    """Like KEDA's cron scaler, clouds' scheduled scaling, or a schedule tuned to last week by hand.

    Each hour's plan is requested ahead_s before it begins. Without a week of history the last day is used, and without
    that the plan stays.
    """

    name = "cron"
    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, need: Need, ahead_s: float) -> None:
        self._need, self._ahead_s = need, ahead_s

    def decide(self, seen: Seen) -> Decision | None:
        # Until the hour begins, the plan must carry the present hour too.
        now_s, hour_s = (at_s // HOUR_S * HOUR_S for at_s in (seen.at_s, seen.at_s + self._ahead_s))
        known = seen.measured
        for back_s, what in ((WEEK_S, "last week"), (86400.0, "yesterday")):
            first, last = np.searchsorted(known.start_s, (now_s - back_s, hour_s - back_s + HOUR_S))
            if (last - first) * 60 < hour_s + HOUR_S - now_s:
                continue
            peaks = known.arrivals_per_s[first:last].max(axis=0)
            load = dict(zip(self._need.topology.sources, peaks.tolist(), strict=True))
            rates = ", ".join(f"{rate:.3g}/s at {source}" for source, rate in load.items())
            return Decision(self._need.plan(load), f"the same hour {what} brought up to {rates}")
        return None
