"""The coming planner: one search over the whole horizon on the forecast's sample paths, each hour anew, and a guard.

It keeps to the share of minutes that may be in violation, learns service times from the running job, and lets the guard
add what the load lacks between forecasts, until the next one.
"""

from collections import deque
from collections.abc import Mapping
from datetime import datetime

import numpy as np

from forecasting.forecast import Forecast
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.errors import PlanError
from planner.horizon.budget import allowed_minutes, course_within
from planner.horizon.horizon_search import Course
from planner.horizon.ladder import Ladder, capacity_ladder
from planner.horizon.outlook import Outlook, outlook
from planner.horizon.prices import ChangeTerms, Prices
from planner.limits import Limits
from planner.replay.forecasts import Forecasts
from planner.replay.policies.guard import Guard
from planner.replay.policies.seen_profiles import SeenProfiles
from planner.replay.policy import Decision, Seen
from planner.search.remembered_plans import RememberedPlans

BEYOND = 1.3
"""The ladder's largest plan carries so many times the highest of all paths."""
LOOKED_S = 180.0
"""Of metrics, to see whether lag grows."""
FIRST_PRICE_H = 3.0
"""Of a violation minute, in instance-hours, from which the one that fits is sought."""


class OverHorizon:
    """It knows what waits, and weighs instances, rescales and violations against each other by their prices."""

    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(
        self,
        name: str,
        topology: Topology,
        profiles: Profiles,
        forecasts: Forecasts,
        limits: Limits,
        terms: ChangeTerms,
        rescale_h: float,
        allowed_share: float,
        guard: Guard,
    ) -> None:
        """rescale_h: instance-hours that avoiding a rescale is worth."""
        self.name = name
        self._topology, self._forecasts, self._limits, self._terms = topology, forecasts, limits, terms
        self._prices, self._allowed_share = Prices(FIRST_PRICE_H, rescale_h), allowed_share
        self._guard = guard
        self._profiles = SeenProfiles(topology, profiles)
        self._cheapest = RememberedPlans(topology, profiles, limits)
        self._ladder: Ladder | None = None
        self._highest: Mapping[str, float] = {}
        self._planned_for: datetime | None = None
        self._due: deque[tuple[float, Mapping[str, int], str]] = deque()
        self._began: int | None = None

    def decide(self, seen: Seen) -> Decision | None:
        self._began = seen.measured.minutes if self._began is None else self._began
        self._profiles.take(seen)
        forecasts = self._forecasts.at(seen.at_s)
        issued = max((each.issued_at for each in forecasts.values()), default=None)
        if issued is not None and issued != self._planned_for and not seen.changing:
            self._planned_for = issued
            self._plan(seen, forecasts)
        if self._due and self._due[0][0] <= seen.at_s:
            _, plan, why = self._due.popleft()
            return Decision(plan, why)
        return self._guarded(seen)

    def _guarded(self, seen: Seen) -> Decision | None:
        """What the guard adds where lag will be too long before it could. It takes nothing away: that is for the next
        forecast.
        """
        decision = self._guard.decide(seen) if self._grows_late(seen) else None
        if decision is None or sum(decision.plan.values()) <= sum(seen.plan.values()):
            return None
        self._due.clear()
        return decision

    def _grows_late(self, seen: Seen) -> bool:
        newest = seen.measured.last(LOOKED_S, seen.running_since_s)
        came, taken = newest.arrivals_per_s.sum(axis=1), newest.taken_per_s.sum(axis=1)
        if not newest.minutes:
            return False
        waits = float(newest.backlog[-1].sum()) + self._terms.react_s * float((came - taken).mean())
        return waits > self._terms.max_lag_s * float(came.mean())

    def _plan(self, seen: Seen, forecasts: Mapping[str, Forecast]) -> None:
        self._due.clear()
        ahead = outlook(forecasts, self._topology.sources, seen.at_s)
        if ahead is None:
            return
        if self._profiles.refresh():
            self._cheapest = RememberedPlans(self._topology, self._profiles.profiles, self._limits)
            self._ladder = None
        ladder = self._climbed(ahead, PhysicalPlan(self._topology.name, dict(seen.plan)))
        running = ladder.number(seen.plan)
        if running is None:
            raise PlanError(f"the ladder of topology {self._topology.name!r} lacks the plan that runs")
        course = Course(
            ahead.edges_s,
            ahead.total_per_s,
            ahead.capacity_per_s(ladder),
            ladder.instances,
            running,
            float(seen.measured.backlog[-1].sum()) if seen.measured.minutes else 0.0,
            max(0.0, seen.at_s - ahead.start_s),
        )
        found, self._prices = course_within(course, self._terms, self._prices, self._allowed(seen, ahead))
        for turn in found.turns:
            minute_s = (ahead.start_s + turn.asked_s) // 60 * 60
            load = float(np.quantile(course.rate_per_s[ahead.step_at(turn.stop_s)], 0.5))
            why = (
                f"{load:.3g}/s come at the median then; {found.violation_minutes:.2g} min in violation are expected, "
                f"each at {self._prices.violation_h:.3g} instance-hours"
            )
            self._due.append((minute_s, ladder.plans[turn.plan].parallelism, why))

    def _allowed(self, seen: Seen, ahead: Outlook) -> float:
        """Minutes of the horizon that may be in violation, by the lag that was seen so far."""
        since = seen.measured.taken(slice(self._began, None))
        came_per_s = since.arrivals_per_s.sum(axis=1)
        late = since.backlog.sum(axis=1) > self._terms.max_lag_s * came_per_s
        return allowed_minutes(self._allowed_share, 60 * ahead.hours, since.minutes, float(np.count_nonzero(late)))

    def _climbed(self, ahead: Outlook, running: PhysicalPlan) -> Ladder:
        """The ladder that reaches beyond all paths and has the plan that runs."""
        most = BEYOND * ahead.rate_per_s.max(axis=(1, 2))
        highest = dict(zip(self._topology.sources, most.tolist(), strict=True))
        enough = all(rate <= self._highest.get(source, 0.0) for source, rate in highest.items())
        if self._ladder is None or not enough or self._ladder.number(running.parallelism) is None:
            self._highest = {source: max(rate, self._highest.get(source, 0.0)) for source, rate in highest.items()}
            self._ladder = capacity_ladder(self._cheapest, [self._highest], running)
        return self._ladder
