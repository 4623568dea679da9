"""Our own planner as deployed: one search over the whole horizon for each new forecast, and a guard.

It keeps to the allowed share of minutes in violation, learns service times from the running job, and lets the guard add
missing instances between forecasts, until the next one.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import inf

import numpy as np

from forecasting.forecast import Forecast
from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import LINEAR
from modeling.wording import rounded
from planner.guard.terms import Backlog
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import Announced, HorizonPlanner, Present
from planner.plan_model import PlanModel
from planner.replay.forecasts import Forecasts
from planner.replay.policies.guard import Guard
from planner.replay.policy import Decision, MinuteMetrics, Seen
from planner.replay.variation import POISSON, Variation

LOOKED_S = 180.0
"""Span of metrics that shows whether lag grows."""

MINUTE_S = 60.0
KEPT_MINUTES, MIN_MINUTES = 360, 10
MATTERS = 0.02
"""Smaller changes are ignored, as new profiles require a new search for plans."""


@dataclass(frozen=True)
class Offered:
    """now: the plan in effect, empty if there is none. coming: from which moment each later one is."""

    now: Mapping[str, int]
    coming: tuple[tuple[float, Mapping[str, int]], ...]

    def until(self, at_s: float) -> dict[str, int]:
        """The largest count of each operator that takes effect by then."""
        plans = [self.now, *(plan for since_s, plan in self.coming if since_s <= at_s)]
        return {name: max(plan.get(name, 0) for plan in plans) for name in {name for plan in plans for name in plan}}


class Planned:
    """Knows the backlog, and weighs instances, rescales and violations by their prices."""

    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(
        self,
        name: str,
        planner: HorizonPlanner,
        forecasts: Forecasts,
        allowed_share: float,
        guard: Guard,
        variation: Variation = POISSON,
    ) -> None:
        """variation: of arrivals within a step, used if latency is bounded."""
        self.name = name
        self._planner, self._forecasts, self._allowed_share = planner, forecasts, allowed_share
        self._guard, self._variation = guard, variation
        self.terms = planner.terms
        self._profiles = SeenProfiles(planner.cheapest.model)
        self._planned_for: datetime | None = None
        self._due: deque[tuple[float, Announced, str]] = deque()
        self._began: int | None = None
        self._at_first_s: float | None = None
        self._offered: Mapping[str, int] = {}

    def decide(self, seen: Seen) -> Decision | None:
        self._plan_for_newest(seen)
        return self._next_due(seen) or self._guarded(seen)

    def offered(self, seen: Seen) -> Offered:
        """What a scaler of somebody else is told, instead of decisions: the plan of the last turn that was due, and
        those to come. There is no guard then.
        """
        self._plan_for_newest(seen)
        while self._due and self._due[0][0] <= seen.at_s:
            self._offered = self._due.popleft()[1].plan
        return Offered(self._offered, tuple((at_s, turn.plan) for at_s, turn, _ in self._due))

    def _plan_for_newest(self, seen: Seen) -> None:
        self._began = seen.measured.minutes if self._began is None else self._began
        self._at_first_s = seen.running_since_s if self._at_first_s is None else self._at_first_s
        self._profiles.take(seen)
        forecasts = self._forecasts.at(seen.at_s)
        issued = max((each.issued_at for each in forecasts.values()), default=None)
        if issued is not None and issued != self._planned_for and not seen.changing:
            self._planned_for = issued
            self._plan(seen, forecasts)

    def _next_due(self, seen: Seen) -> Decision | None:
        """The turn that is due, unless it is withheld: then it is requested again until the next one is due, or the
        next forecast comes.
        """
        while len(self._due) > 1 and self._due[1][0] <= seen.at_s:
            self._due.popleft()
        if not self._due or self._due[0][0] > seen.at_s or self._planned_for is None:
            return None
        _, turn, why = self._due[0]
        if self._guard.withheld(turn.plan, self._planned_for.timestamp(), seen):
            return None
        self._due.popleft()
        return Decision(turn.plan, why)

    def _guarded(self, seen: Seen) -> Decision | None:
        """What the guard adds if the lag will become too long. It removes nothing: that is up to the next forecast."""
        decision = self._guard.decide(seen) if self._grows_late(seen) else None
        if decision is None or (added := sum(decision.plan.values()) - sum(seen.plan.values())) <= 0:
            return None
        worth = self.terms.worth_at(self._planner.prices)
        if not self._grows_late(seen, worth.patience_s(added * self.terms.held_s / 3600.0)):
            self._guard.withdraw()
            return None
        self._due.clear()
        return decision

    def _grows_late(self, seen: Seen, for_s: float = 0.0) -> bool:
        """Whether the lag will have been too long for so many seconds by the time that more instances are there."""
        measured = seen.measured
        if not (measured.minutes and measured.backlog[-1].any()):
            return False
        newest = measured.rows_of_last(LOOKED_S, seen.running_since_s)
        came, taken = measured.arrivals_per_s[newest].sum(axis=1), measured.taken_per_s[newest].sum(axis=1)
        if not came.size:
            return False
        behind = Backlog(float(measured.backlog[-1].sum()), float((came - taken).mean()), float(came.mean()))
        return behind.late_for(self.terms.max_lag_s, self.terms.react_s, for_s)

    def _plan(self, seen: Seen, forecasts: Mapping[str, Forecast]) -> None:
        announced = self._announced(seen.at_s)
        self._due.clear()
        # The variation is estimated from the forecast's training data.
        cv2 = self._variation.at(max(min(each.trained_to, each.issued_at) for each in forecasts.values()))
        if self._profiles.refresh() or cv2 != self._planner.cheapest.model.arrival_cv2:
            self._planner.believe(self._profiles.profiles, cv2)
        waiting = float(seen.measured.backlog[-1].sum()) if seen.measured.minutes else 0.0
        # The first plan ran long before the replay.
        running_since_s = -inf if seen.running_since_s == self._at_first_s else seen.running_since_s
        planned = self._planner.planned(
            forecasts,
            Present(seen.at_s, seen.plan, waiting, announced=announced, running_since_s=running_since_s),
            self._budget(seen),
        )
        if planned is None:
            return
        found, price_h = planned.found, planned.prices.violation_h
        for turn in found.turns:
            minute_s = (planned.ahead.start_s + turn.asked_s) // 60 * 60
            load = float(planned.ahead.peak_per_s(0.5, at := planned.ahead.step_at(turn.stop_s), at + 1).sum())
            why = (
                f"{load:.3g}/s come at the median then; {rounded(found.violation_minutes, 2)} min in violation are "
                f"expected, each at {price_h:.3g} instance-hours"
            )
            stop_s = planned.ahead.start_s + turn.stop_s
            self._due.append((minute_s, Announced(stop_s, planned.plan_of(turn).parallelism), why))

    def _announced(self, now_s: float) -> tuple[Announced, ...]:
        """Turns of the present plan that are still to come; withheld ones are past."""
        return tuple(turn for at_s, turn, _ in self._due if at_s > now_s)

    def _budget(self, seen: Seen) -> Budget:
        """From the lag that was seen so far."""
        since = seen.measured.taken(slice(self._began, None))
        came_per_s = since.arrivals_per_s.sum(axis=1)
        late = since.backlog.sum(axis=1) > self.terms.max_lag_s * came_per_s
        return Budget(self._allowed_share, since.minutes, float(np.count_nonzero(late)))


class SeenProfiles:
    """The believed profiles, each scaled by how much busier its instances were than they predict."""

    def __init__(self, model: PlanModel) -> None:
        self._topology, self._believed = model.topology, model.profiles
        self._model, self._slowness = model, lru_cache(1024)(self._slowness_of)
        self._factors: Floats = np.ones(len(model.topology.order))
        # Usable minutes, and the plan that ran in each.
        self._usable: deque[tuple[int, tuple[int, ...]]] = deque(maxlen=KEPT_MINUTES)
        self._measured: MinuteMetrics | None = None
        self.profiles = model.profiles

    def take(self, seen: Seen) -> None:
        """Add new minutes of the metrics in which the present plan ran throughout."""
        measured = seen.measured
        known = 0 if self._measured is None else self._measured.minutes
        if not seen.changing:
            counts = tuple(seen.plan[name] for name in self._topology.order)
            for row in range(known, measured.minutes):
                if measured.up_s[row] == MINUTE_S and measured.start_s[row] >= seen.running_since_s:
                    self._usable.append((row, counts))
        self._measured = measured

    def refresh(self) -> bool:
        """Update the profiles to the observations. Returns whether they changed."""
        measured = self._measured
        if measured is None or len(self._usable) < MIN_MINUTES:
            return False
        minutes, counts = zip(*self._usable, strict=True)
        rows = list(minutes)
        # Busy time of each operator in instances, observed and believed.
        busy = (measured.busy[rows] * np.array(counts)).sum(axis=0)
        slowness = np.array([self._slowness(each) for each in counts])
        believed = (self._believed_busy(measured, rows) * slowness).sum(axis=0)
        factors = np.where((busy > 0) & (believed > 0), busy / np.where(believed > 0, believed, 1.0), self._factors)
        if np.abs(factors / self._factors - 1).max() < MATTERS:
            return False
        self._factors = factors
        names = zip(self._topology.order, factors.tolist(), strict=True)
        self.profiles = {name: self._believed[name].slower(factor) for name, factor in names}
        return True

    def _believed_busy(self, measured: MinuteMetrics, rows: list[int]) -> Floats:
        """Busy time of each operator in instances, by the believed profiles for the observed input if instances did
        not slow each other and ran where they were measured, shape (minutes, operators).
        """
        per_s = measured.streams_per_s[rows]
        streams = {stream.name: per_s[:, at] for at, stream in enumerate(self._topology.streams)}
        into = measured.records_in_per_s[rows].T
        of = zip(self._topology.order, into, strict=True)
        return np.column_stack([_worked(self._believed[name], per_s, streams) for name, per_s in of])

    def _slowness_of(self, counts: tuple[int, ...]) -> tuple[float, ...]:
        """By operator, its busy time under a plan as packed, over that of instances which do not slow each other and
        run where they were measured.
        """
        plan = PhysicalPlan(self._topology.name, dict(zip(self._topology.order, counts, strict=True)))
        alone = {name: replace(profile, efficiency=LINEAR) for name, profile in self._believed.items()}
        load_per_s = dict.fromkeys(self._topology.sources, 1.0)
        of = self._model.estimate(plan, load_per_s).operators
        bare = PlanModel(self._topology, alone).estimate(plan, load_per_s).operators
        busy = ((of[name].instance_utilisation.sum(), bare[name].instance_utilisation.sum()) for name in of)
        return tuple(float(placed / plain) if plain > 0 else 1.0 for placed, plain in busy)


def _worked(profile: OperatorProfile, per_s: Floats, streams: dict[str, Floats]) -> Floats:
    """Busy seconds per second, minute by minute."""
    own = {name: rate for name, rate in streams.items() if name in profile.stream_service_s}
    rest = np.maximum(0.0, per_s - sum(own.values()))
    return np.asarray(rest * profile.service_s + sum(rate * profile.stream_service_s[n] for n, rate in own.items()))
