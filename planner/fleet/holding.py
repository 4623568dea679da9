"""What a topology of a fleet holds of the shared instances from moment to moment, and how urgent more of them are."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from modeling.arrays import Floats, Ints
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import HOLD


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
        """Instances now; a topology that is planned anew never gets fewer."""
        return max(self.at_least, self.schedule.current.instances)

    def held(self, at_s: Floats) -> Ints:
        """Instances at moments in epoch seconds, shape (moments,). A step holds those of its plan from its deploy_at
        on: a larger plan's are asked for then, a smaller one's job stops.
        """
        steps = self.schedule.steps
        counts = np.array([self.schedule.current.instances, *(step.plan.instances for step in steps)])
        begins_s = [step.deploy_at.timestamp() for step in steps]
        return np.asarray(np.maximum(counts[np.searchsorted(begins_s, at_s, side="right")], self.at_least))

    def with_schedule(self, schedule: ScalingSchedule) -> "Holding":
        return replace(self, schedule=schedule)

    def urgency(self) -> float:
        """Minutes in violation that are expected to be avoided per instance more than now; inf where no more is
        wanted.
        """
        more = max((step.plan.instances for step in self.schedule.steps), default=0) - self.running
        if more <= 0:
            return inf
        held = [each.violation_minutes for each in self.schedule.alternatives if each.name == HOLD]
        return max(0.0, max(held, default=0.0) - self.schedule.violation_minutes) / more


def moments_s(holdings: Iterable[Holding]) -> Floats:
    """Between which nobody's holding changes, in epoch seconds, ascending."""
    given = list(holdings)
    begins = {step.deploy_at.timestamp() for each in given for step in each.schedule.steps}
    return np.array(sorted({min(each.schedule.start.timestamp() for each in given), *begins}))
