"""Instances that a topology holds over time, and how urgently it needs more."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from modeling.arrays import Floats, Ints
from planner.scaling_schedule import AlternativeKind, ScalingSchedule


@dataclass(frozen=True)
class Holding:
    """A topology with its schedule. at_least: instances that it holds whatever the schedule says: in shadow mode those
    that really run. fixed: it cannot be planned again.
    """

    schedule: ScalingSchedule
    at_least: int = 0
    fixed: bool = False

    @property
    def name(self) -> str:
        return self.schedule.topology

    @property
    def running(self) -> int:
        """Instances now; planning again never gives a topology fewer."""
        return max(self.at_least, self.schedule.current.instances)

    def held(self, at_s: Floats) -> Ints:
        """Instances at moments in epoch seconds, shape (moments,). A step's plan counts from its deploy_at: then a
        larger plan's instances are requested, and a smaller one's job stops.
        """
        steps = self.schedule.steps
        counts = np.array([self.schedule.current.instances, *(step.plan.instances for step in steps)])
        begins_s = [step.deploy_at.timestamp() for step in steps]
        return np.asarray(np.maximum(counts[np.searchsorted(begins_s, at_s, side="right")], self.at_least))

    def with_schedule(self, schedule: ScalingSchedule) -> "Holding":
        return replace(self, schedule=schedule)

    def urgency(self) -> float:
        """Expected violation minutes avoided per additional instance; inf if no more are wanted."""
        more = max((step.plan.instances for step in self.schedule.steps), default=0) - self.running
        if more <= 0:
            return inf
        held = [each.violation_minutes for each in self.schedule.alternatives if each.kind is AlternativeKind.HOLD]
        return max(0.0, max(held, default=0.0) - self.schedule.violation_minutes) / more


def moments_s(holdings: Iterable[Holding]) -> Floats:
    """Moments in epoch seconds, ascending, between which no holding changes."""
    given = list(holdings)
    begins = {step.deploy_at.timestamp() for each in given for step in each.schedule.steps}
    return np.array(sorted({min(each.schedule.start.timestamp() for each in given), *begins}))
