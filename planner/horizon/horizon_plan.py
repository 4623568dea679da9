"""What a planner does with new forecasts: it brings ladder, outlook and budget together for one search."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from forecasting.forecast import Forecast
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from planner.errors import PlanError
from planner.horizon.budget import Budget, course_within
from planner.horizon.horizon_search import Course, Found, Turn
from planner.horizon.ladder import Ladder, capacity_ladder
from planner.horizon.outlook import Outlook, outlook
from planner.horizon.prices import ChangeTerms, Prices
from planner.limits import Limits
from planner.search.remembered_plans import RememberedPlans

BEYOND = 1.3
"""The ladder's largest plan carries so many times the highest of all paths."""
FIRST_PRICE_H = 3.0
"""Of a violation minute, in instance-hours, from which the one that fits is sought."""


@dataclass(frozen=True)
class Present:
    """What a plan begins with. at_s: epoch seconds. running: what runs; waiting: tuples at the sources; free_at_s: the
    moment from which on a change may be asked for.
    """

    at_s: float
    running: Mapping[str, int]
    waiting: float = 0.0
    free_at_s: float = field(default=0.0)


@dataclass(frozen=True)
class HorizonPlan:
    """The turns that were found, and all that they were found under. allowed_minutes: of violation, that were aimed at;
    None where each has a fixed price.
    """

    ahead: Outlook
    ladder: Ladder
    course: Course
    terms: ChangeTerms
    prices: Prices
    found: Found
    allowed_minutes: float | None

    def plan_of(self, turn: Turn) -> PhysicalPlan:
        return self.ladder.plans[turn.plan]

    @property
    def within_budget(self) -> bool:
        return self.allowed_minutes is None or self.found.violation_minutes <= self.allowed_minutes


class HorizonPlanner:
    """It remembers the ladder, cheapest plans and the price of a violation minute from one forecast to the next."""

    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        limits: Limits,
        terms: ChangeTerms,
        rescale_h: float,
        arrival_cv2: float | Arrivals = 1.0,
    ) -> None:
        """rescale_h: instance-hours that avoiding a rescale is worth. arrival_cv2: as `evaluate` takes it; it counts
        where the limits bound latency.
        """
        self.cheapest = RememberedPlans(topology, profiles, limits, arrival_cv2)
        self.terms, self._prices = terms, Prices(FIRST_PRICE_H, rescale_h)
        self._ladder: Ladder | None = None
        self._highest: Mapping[str, float] = {}

    @property
    def topology(self) -> Topology:
        return self.cheapest.topology

    def believe(self, profiles: Profiles, arrival_cv2: float | Arrivals) -> None:
        """Plan by these from now on."""
        self.cheapest = RememberedPlans(self.topology, profiles, self.cheapest.limits, arrival_cv2)
        self._ladder = None

    def planned(self, forecasts: Mapping[str, Forecast], present: Present, budget: Budget) -> HorizonPlan | None:
        """None where the forecasts are over. Raises PlanError or ModelError for what does not fit together."""
        ahead = outlook(forecasts, self.topology.sources, present.at_s, self.terms.lead_s)
        if ahead is None:
            return None
        ladder = self._climbed(ahead, PhysicalPlan(self.topology.name, dict(present.running)))
        running = ladder.number(present.running)
        if running is None:
            raise PlanError(f"the ladder of topology {self.topology.name!r} lacks the plan that runs")
        course = Course(
            ahead.edges_s,
            ahead.total_per_s,
            ahead.capacity_per_s(ladder),
            ladder.instances,
            running,
            present.waiting,
            max(0.0, present.free_at_s - ahead.start_s),
        )
        allowed = budget.minutes(60 * ahead.hours)
        found, self._prices = course_within(course, self.terms, budget.priced(self._prices), allowed)
        return HorizonPlan(ahead, ladder, course, self.terms, self._prices, found, allowed)

    def _climbed(self, ahead: Outlook, running: PhysicalPlan) -> Ladder:
        """The ladder that reaches beyond all paths and has the plan that runs."""
        most = BEYOND * ahead.rate_per_s.max(axis=(1, 2))
        highest = dict(zip(self.topology.sources, most.tolist(), strict=True))
        enough = all(rate <= self._highest.get(source, 0.0) for source, rate in highest.items())
        if self._ladder is None or not enough or self._ladder.number(running.parallelism) is None:
            self._highest = {source: max(rate, self._highest.get(source, 0.0)) for source, rate in highest.items()}
            self._ladder = capacity_ladder(self.cheapest, [self._highest], running)
        return self._ladder
