"""The scaling schedule as a value: which plan from when, why, and what was considered instead."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan


@dataclass(frozen=True)
class ScheduledStep:
    """One plan and when to deploy it.

    deploy_at: when to ask for it. in_place_at: when it runs and has caught up, by the model. needed_from,
    needed_until: the span of load it is planned for. load_per_s: the demand per source it was chosen to carry, the
    largest in the span; where these are too much for it together, that of the slot in which it is busiest.
    cost_instance_hours: instances × hours of the span. catch_up_s: seconds from running to an empty backlog, at
    most the longest acceptable (short_s of the schedule counts what is beyond). utilisation: of the bottleneck
    under load_per_s. saturation_scale: maximum sustainable throughput over load_per_s.
    """

    deploy_at: datetime
    in_place_at: datetime
    needed_from: datetime
    needed_until: datetime
    plan: PhysicalPlan
    replaces: PhysicalPlan
    load_per_s: Mapping[str, float]
    bottleneck: str
    utilisation: float
    saturation_scale: float
    downtime_s: float
    catch_up_s: float
    cost_instance_hours: float
    why: str


@dataclass(frozen=True)
class Alternative:
    """Another schedule that was costed in the same way: hold the plan, static peak, a plan for the mean …

    short_s: seconds of the horizon in which the target would be missed at the planned quantile.
    """

    name: str
    cost_instance_hours: float
    rescales: int
    short_s: float
    excuse: str


@dataclass(frozen=True)
class ScalingSchedule:
    """Plans with their deploy times, over [start, end), and what they were derived from.

    quantile: the quantile of the peak that was planned for. current: the plan that ran when the schedule was made; an
    empty `steps` means to hold it, and `why` says why. short_s: seconds of the horizon in which the target would be
    missed at the planned quantile, each counted once.
    """

    topology: str
    made_at: datetime
    start: datetime
    end: datetime
    quantile: float
    current: PhysicalPlan
    steps: tuple[ScheduledStep, ...]
    cost_instance_hours: float
    why: str
    short_s: float = 0.0
    alternatives: tuple[Alternative, ...] = ()
    excuses: tuple[Excuse, ...] = ()
    derived_from: Mapping[str, str] = field(default_factory=dict)

    def plans_in_place(self) -> list[tuple[PhysicalPlan, datetime, datetime]]:
        """Which plan carries the load from when to when, over the horizon: each once it has caught up, by the model."""
        changes = [(self.current, self.start), *((step.plan, step.in_place_at) for step in self.steps)]
        ends = [*(min(start, self.end) for _, start in changes[1:]), self.end]
        return [(plan, start, end) for (plan, start), end in zip(changes, ends, strict=True) if end > start]
