"""Our own planner as it is deployed: a schedule for each new forecast, each step deployed at its moment."""

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime

from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.demand import demand
from planner.errors import PlanError
from planner.limits import Limits, RescaleTerms
from planner.replay.forecasts import Forecasts
from planner.replay.policy import Decision, Seen
from planner.replay.variation import POISSON, Variation
from planner.scaling_schedule import ScheduledStep
from planner.schedule import make_schedule
from planner.search.remembered_plans import RememberedPlans


class Planned:
    """It plans when there is a new forecast and the job runs, as the planning job does, and approves all it plans.

    A step is deployed only over the plan that it replaces.
    """

    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(
        self,
        name: str,
        topology: Topology,
        profiles: Profiles,
        forecasts: Forecasts,
        limits: Limits,
        rescale: RescaleTerms,
        slot_s: int,
        quantile: float,
        variation: Variation = POISSON,
    ) -> None:
        self.name = name
        self._topology, self._profiles, self._forecasts = topology, profiles, forecasts
        self._limits, self._rescale, self._slot_s, self._quantile = limits, rescale, slot_s, quantile
        self._variation, self._cheapest = variation, RememberedPlans(topology, profiles, limits)
        self._planned_for: datetime | None = None
        self._steps: deque[ScheduledStep] = deque()

    def decide(self, seen: Seen) -> Decision | None:
        now = datetime.fromtimestamp(seen.at_s, UTC)
        forecasts = self._forecasts.at(seen.at_s)
        issued = max((each.issued_at for each in forecasts.values()), default=None)
        if issued is not None and issued != self._planned_for and not seen.changing:
            self._planned_for = issued
            # What a forecast was trained on is what its variation is read off.
            cv2 = self._variation.at(max(min(each.trained_to, each.issued_at) for each in forecasts.values()))
            if cv2 != self._cheapest.arrival_cv2:
                self._cheapest = RememberedPlans(self._topology, self._profiles, self._limits, cv2)
            try:
                wanted = demand(forecasts, slot_s=self._slot_s, quantile=self._quantile, arrival_cv2=cv2)
                wanted = wanted.still_to_come(now)
            except PlanError:
                # A forecast that is too old: the plan is held, as the planning job leaves it.
                return None
            schedule = make_schedule(
                self._topology,
                self._profiles,
                wanted,
                PhysicalPlan(self._topology.name, dict(seen.plan)),
                made_at=now,
                limits=self._limits,
                rescale=self._rescale,
                running_since=datetime.fromtimestamp(seen.running_since_s, UTC),
                cheapest=self._cheapest,
            )
            self._steps = deque(schedule.steps)
        if not self._steps or self._steps[0].deploy_at > now:
            return None
        step = self._steps.popleft()
        if dict(step.replaces.parallelism) != dict(seen.plan):
            self._steps.clear()
            return None
        return Decision(step.plan.parallelism, step.why)
