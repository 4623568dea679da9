"""Prices that a schedule weighs against each other, all in instance-hours."""

from dataclasses import dataclass
from math import inf

from modeling.inputs.physical_plan import PhysicalPlan, adds_instances
from modeling.inputs.topology import Topology
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore
from modeling.rescaling.warm_up import WARM, WarmUp
from planner.guard.terms import NOTHING, RescueWorth

HOURLY_S = 3600
"""Default seconds between two forecasts, as in the DAGs."""


@dataclass(frozen=True)
class Prices:
    """violation_h: of a violation minute. rescale_h: of one change of plan; started_h: of each instance that it starts
    or stops; moved_gib_h: of each GiB of state that it moves to another instance. most_late_s: longest that a job may
    be late before it is rescued, where that is weighed (RescueWorth).
    """

    violation_h: float
    rescale_h: float = 1.0
    started_h: float = 0.0
    moved_gib_h: float = 0.0
    most_late_s: float = inf


@dataclass(frozen=True)
class DisruptionPrices:
    """In instance-hours, besides that of a rescale: of each instance that it starts or stops, and of each GiB of state
    that it moves to another instance.
    """

    started_h: float = 0.0
    moved_gib_h: float = 0.0


@dataclass(frozen=True)
class ChangeTerms:
    """lead_s: from requesting more instances until they are available. downtime_s: of a change, without restoring
    state, which `restore` adds. apart_s: minimum time from the end of one change to the request of the next. max_lag_s:
    of the target. react_s: time for which the load may exceed a plan's capacity until a reaction has a larger plan
    ready, at the price of its downtime; inf for no reaction. max_step: most instances that one change may start or stop
    in total. only_out: no change removes instances. replanned_s: from one forecast, and its plan, to the next.
    rescue_utilisation, drain_s: of a reaction's plan, under the load that it reacts to, and the time in which it is to
    drain what waits. withholds: a step waits while more comes than its plan carries. warm_up: of each plan, from the
    end of its downtime on. weighs_rescues: a reaction comes only once the job would be late for so long that these
    minutes cost as much (RescueWorth).
    """

    lead_s: float
    downtime_s: float
    apart_s: float
    max_lag_s: float
    react_s: float = inf
    max_step: float = inf
    only_out: bool = False
    restore: StateRestore = NO_RESTORE
    replanned_s: float = HOURLY_S
    rescue_utilisation: float = 0.85
    drain_s: float = 600.0
    withholds: bool = True
    warm_up: WarmUp = WARM
    weighs_rescues: bool = False

    @property
    def recourse(self) -> tuple[float, float, float, float, float, bool]:
        """As the compiled search takes it (planner.horizon.ways). Where nothing reacts, nothing withholds a step."""
        withholds = self.withholds and self.react_s < inf
        lag_s, react_s, held_s = float(self.max_lag_s), float(self.react_s), float(self.held_s)
        return lag_s, react_s, held_s, float(self.rescue_utilisation), float(self.drain_s), withholds

    def worth_at(self, prices: Prices) -> RescueWorth:
        """How long a job is late before a reaction is worth it."""
        if not self.weighs_rescues:
            return NOTHING
        return RescueWorth.at(prices.violation_h, prices.rescale_h, prices.most_late_s)

    @property
    def held_s(self) -> float:
        """How long instances that a reaction has added are kept unneeded: half of the time between forecasts, on
        average.
        """
        return self.replanned_s / 2

    def stops_after_s(self, before: PhysicalPlan, plan: PhysicalPlan) -> float:
        """Seconds from the request of a plan until the job stops for it; 0 if it adds no instances."""
        return self.lead_s if adds_instances(before.parallelism, plan.parallelism) else 0.0

    def down_s(self, topology: Topology, before: PhysicalPlan, plan: PhysicalPlan) -> float:
        """Downtime in seconds of a change from one plan to another."""
        return self.downtime_s + self.restore.change_s(topology, before, plan)
