"""The scaling schedule as a value: which plan from when, why, and what was considered instead."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError

CALIBRATION_VERSION = "calibration version"
"""Where `derived_from` names MLflow's version of the calibration. It tells no decision from another: two planners that
calibrate at once record two that are alike."""


@dataclass(frozen=True)
class Disruption:
    """Of one change of plan. started, stopped, moved: instances; moved is of those that go on running in another
    container, None where nobody says how they are packed. moved_key_groups, moved_state_gib: that get to an instance of
    another number (Flink). containers: of the plan when they are packed from those before, None as moved.
    """

    started: int
    stopped: int
    moved: int | None
    moved_key_groups: int
    moved_state_gib: float
    containers: int | None = None

    def __str__(self) -> str:
        told = f"{self.started} started, {self.stopped} stopped"
        if self.moved is not None:
            told = f"{told}, {self.moved} moved"
        if self.moved_key_groups:
            told = (
                f"{told}; {self.moved_key_groups} key groups with {self.moved_state_gib:.3g} GiB change their instance"
            )
        return told


@dataclass(frozen=True)
class ScheduledStep:
    """One plan and when to deploy it.

    deploy_at: when to ask for it. in_place_at: when it runs and has caught up at the median of what comes then, by the
    model. needed_from: when more may come than the plan before it carries, or when it is to run; needed_until: when
    the next plan is to. load_per_s: of each source, what comes together at the highest moment of that span at the
    planned quantile. catch_up_s: seconds from running to an empty backlog, at most until it is needed no more.
    cost_instance_hours: instances × hours of the span in which it runs. utilisation: of the bottleneck under
    load_per_s. headroom_factor: maximum sustainable throughput over load_per_s. violation_minutes_without: expected
    over the horizon if this step alone is left out. disruption: None of a schedule that did not tell. price_per_hour:
    of the plan, and more_per_hour than the plan before it, in the currency of the prices; None where there are none.
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
    headroom_factor: float
    downtime_s: float
    catch_up_s: float
    cost_instance_hours: float
    why: str
    violation_minutes_without: float = 0.0
    disruption: Disruption | None = None
    price_per_hour: float | None = None
    more_per_hour: float | None = None


@dataclass(frozen=True)
class Alternative:
    """Another schedule that was costed in the same way: hold the plan, a static plan for the peak …

    violation_minutes: expected over the horizon. price: as of the schedule.
    """

    name: str
    cost_instance_hours: float
    rescales: int
    violation_minutes: float
    excuse: str
    price: float | None = None


@dataclass(frozen=True)
class ScalingSchedule:
    """Plans with their deploy times, over [start, end), and what they were derived from.

    quantile: of the peaks that steps tell as their load. current: the plan that ran when the schedule was made; an
    empty `steps` means to hold it, and `why` says why. cost_instance_hours: expected, with what the guard adds.
    violation_minutes: expected over the horizon; violation_probability: that there is any. allowed_minutes: of them,
    that were aimed at, None where each has a fixed price; violation_price_h: of one, in instance-hours. price: expected
    as cost_instance_hours, in the currency of the prices, of which an instance-hour is instance_price_per_hour; None
    where nobody says what plans cost. Raises PlanError for a quantile that is none and a horizon that does not end.
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
    violation_minutes: float = 0.0
    violation_probability: float = 0.0
    allowed_minutes: float | None = None
    violation_price_h: float = 0.0
    alternatives: tuple[Alternative, ...] = ()
    excuses: tuple[Excuse, ...] = ()
    derived_from: Mapping[str, str] = field(default_factory=dict)
    price: float | None = None
    instance_price_per_hour: float | None = None

    def __post_init__(self) -> None:
        where = f"schedule of topology {self.topology!r}"
        if not 0 < self.quantile < 1:
            raise PlanError(f"{where}: quantile {self.quantile:g}; give one between 0 and 1")
        if self.start >= self.end:
            raise PlanError(f"{where}: it ends at {self.end}, not after {self.start}; give a later end")

    def plans_in_place(self) -> list[tuple[PhysicalPlan, datetime, datetime]]:
        """Which plan carries the load from when to when, over the horizon: each once it has caught up, by the model."""
        changes = [(self.current, self.start), *((step.plan, step.in_place_at) for step in self.steps)]
        ends = [*(min(start, self.end) for _, start in changes[1:]), self.end]
        return [(plan, start, end) for (plan, start), end in zip(changes, ends, strict=True) if end > start]

    def answers(self, asked: Mapping[str, str], at: datetime) -> bool:
        """Whether it was made of what is asked about and is not over yet. asked: as derived_from, an empty text for
        what nobody told.
        """
        return at < self.end and all(self.derived_from.get(name, "") == told for name, told in asked.items())
