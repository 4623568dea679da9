"""The scaling schedule: which plan from when, what speaks for it, and which alternatives were considered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import isinf

from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import NOTHING_KNOWN, DecisionBasis
from planner.errors import PlanError
from planner.near_rescale import NearRescale

STOOD_STILL = timedelta(milliseconds=1)
"""A clock that moves less between two decisions stands still."""


@dataclass(frozen=True)
class Disruption:
    """What one change of plan disrupts. started, stopped, moved: instances; moved ones go on running in another
    container; None if the packing is unknown. moved_key_groups, moved_state_gib: assigned to an instance of another
    index (Flink). containers: number that the plan needs when packed from the ones before; None as for moved.
    """

    started: int
    stopped: int
    moved: int | None
    moved_key_groups: int
    moved_state_gib: float
    containers: int | None = None

    def __str__(self) -> str:
        text = f"{self.started} started, {self.stopped} stopped"
        if self.moved is not None:
            text = f"{text}, {self.moved} moved"
        if self.moved_key_groups:
            from modeling.wording import sized  # the ledger, which starts often, says nothing

            text = (
                f"{text}; {self.moved_key_groups} key groups with {sized(self.moved_state_gib)} change their instance"
            )
        return text


@dataclass(frozen=True)
class ScheduledStep:
    """One plan and when to deploy it.

    deploy_at: time of the request. in_place_at: when it runs and has caught up under the median load, by the model.
    needed_from: when the load may exceed the capacity of the plan before it, or when this plan is to run; needed_until:
    when the next plan is to. load_per_s: by source, the rates at the moment of that span whose total is highest, at the
    planned quantile. catch_up_s: seconds from running to an empty backlog, limited to needed_until.
    cost_instance_hours: instances × hours of the span in which it runs. utilisation: of the bottleneck under
    load_per_s. headroom_factor: maximum sustainable throughput over load_per_s. violation_minutes_without: expected
    over the horizon if only this step is left out. disruption: None in schedules of versions that did not record it.
    price_per_hour: of the plan; more_per_hour: minus that of the plan before it; in the currency of the prices, None if
    there are none. capacity_per_s, capacity_before_per_s: rate that the job carries with the plan, and with the one
    before, when this one takes over; None in schedules of earlier releases. saved_h: instance-hours, weighed by their
    price, that leaving only this step out would cost more. busy_before: how busy the plan before would be if it ran
    on, at the planned quantile; busy_most: at most wanted; None in schedules of earlier releases. moved: why it
    is asked for earlier than needed. recorded: its reasons as an earlier release worded them.
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
    recorded: str = ""
    violation_minutes_without: float = 0.0
    disruption: Disruption | None = None
    price_per_hour: float | None = None
    more_per_hour: float | None = None
    capacity_per_s: float | None = None
    capacity_before_per_s: float | None = None
    saved_h: float = 0.0
    busy_before: float | None = None
    busy_most: float | None = None
    moved: NearRescale | None = None

    @property
    def relieves(self) -> bool:
        """Whether the plan before would be busier than wanted."""
        return self.busy_before is not None and self.busy_most is not None and self.busy_before > self.busy_most

    @property
    def stops_at(self) -> datetime:
        """When the job stops for the change, by the model."""
        return self.runs_from - timedelta(seconds=self.downtime_s)

    @property
    def runs_from(self) -> datetime:
        """When the job is back with this plan, by the model."""
        return self.in_place_at - timedelta(seconds=self.catch_up_s)

    @property
    def catches_up(self) -> bool:
        """Whether the backlog of the change is gone before the plan of the next step is to run."""
        return self.in_place_at < self.needed_until or self.catch_up_s <= 0


class AlternativeKind(StrEnum):
    """HOLD: keep the running plan. REACTIVE: no plan, but a scaler that acts once it sees a load. STATIC: one plan for
    the peak. CANDIDATE: a plan that a person proposed. ACTING_GUARD: planned in the same way for a guard that acts,
    where it only advises. OTHER: any other, of an earlier release.
    """

    HOLD = "hold"
    REACTIVE = "reactive"
    STATIC = "static"
    CANDIDATE = "candidate"
    ACTING_GUARD = "acting-guard"
    OTHER = "other"


COMPARED = frozenset({AlternativeKind.REACTIVE, AlternativeKind.ACTING_GUARD})
"""Kinds that need more than another plan, so that a decision does not choose them."""


@dataclass(frozen=True)
class Alternative:
    """Another schedule that was costed in the same way: hold the running plan, a static plan for the peak …

    name: of a candidate, or as an earlier release called it. violation_minutes: expected over the horizon. price: as in
    ScalingSchedule. parallelism: of its last plan. more_h: instance-hours, weighed by their price, above those of the
    schedule; more_cost_h: the same with rescales and violations, infinite outside the limits of changes; None in
    schedules of earlier releases. chosen_from: when the schedule changes to a candidate's plan. sample_paths: number
    that a simulation was run on. recorded: why it was not chosen, as an earlier release worded it.
    """

    name: str
    cost_instance_hours: float
    rescales: int
    violation_minutes: float
    recorded: str = ""
    price: float | None = None
    kind: AlternativeKind = AlternativeKind.OTHER
    parallelism: Mapping[str, int] = field(default_factory=dict)
    more_h: float | None = None
    more_cost_h: float | None = None
    chosen_from: tuple[datetime, ...] = ()
    sample_paths: int = 0

    @property
    def was_weighed(self) -> bool:
        """Whether the decision chose between it and the schedule; others are only compared with that."""
        return self.kind not in COMPARED

    @property
    def allowed(self) -> bool:
        """Whether it is within the limits of changes."""
        return self.more_cost_h is None or not isinf(self.more_cost_h)


@dataclass(frozen=True)
class ScalingSchedule:
    """Plans with their deploy times, over [start, end), and what they were made from.

    quantile: of the peaks in the steps' load_per_s. current: the plan that ran when the schedule was made; empty
    `steps` hold it. cost_instance_hours: expected, including what the guard adds.
    violation_minutes: expected over the horizon; violation_probability: of any violation. allowed_minutes: the planned
    bound on violation_minutes, None if each has a fixed price; violation_price_h: price of one, in instance-hours.
    price: expected, as cost_instance_hours, in the currency of the prices; instance_price_per_hour: of one instance;
    None if plans have no prices. review_s: time for a review from made_at to the first step that needs one; 0: nobody
    is asked. own_minutes: allowed_minutes if the week before had used its share, 0 in schedules of earlier
    releases. crowded: rescales that stay close to those of other topologies. recorded: its
    reasons as an earlier release worded them. Raises PlanError for a quantile outside (0, 1) and an end that is not
    after the start.
    """

    topology: str
    made_at: datetime
    start: datetime
    end: datetime
    quantile: float
    current: PhysicalPlan
    steps: tuple[ScheduledStep, ...]
    cost_instance_hours: float
    recorded: str = ""
    violation_minutes: float = 0.0
    violation_probability: float = 0.0
    allowed_minutes: float | None = None
    violation_price_h: float = 0.0
    alternatives: tuple[Alternative, ...] = ()
    excuses: tuple[Excuse, ...] = ()
    basis: DecisionBasis = NOTHING_KNOWN
    price: float | None = None
    instance_price_per_hour: float | None = None
    review_s: float = 0.0
    own_minutes: float = 0.0
    crowded: tuple[NearRescale, ...] = ()

    def __post_init__(self) -> None:
        where = f"schedule of topology {self.topology!r}"
        if not 0 < self.quantile < 1:
            raise PlanError(f"{where}: quantile {self.quantile:g}; give one between 0 and 1")
        if self.start >= self.end:
            raise PlanError(f"{where}: it ends at {self.end}, not after {self.start}; give a later end")

    @property
    def within_budget(self) -> bool:
        """Whether the expected violation minutes are allowed."""
        return self.allowed_minutes is None or self.violation_minutes <= self.allowed_minutes

    def is_too_late_for_review(self, step: ScheduledStep) -> bool:
        """Whether a step is due before a review of review_s is over."""
        return step.deploy_at < self.made_at + timedelta(seconds=self.review_s)

    def decided_after(self, newest: "ScalingSchedule") -> "ScalingSchedule":
        """The same schedule, a microsecond later than the newest of its topology if the clock has stood still since
        then: of two made at one moment nobody could say which replaces the other.
        """
        if timedelta(0) <= newest.made_at - self.made_at < STOOD_STILL:
            return replace(self, made_at=newest.made_at + timedelta(microseconds=1))
        return self

    def due_from(self, recorded_at: datetime) -> "ScalingSchedule":
        """The same schedule with no step due before it is recorded: planning takes time, and nobody could have answered
        a step by then. A change that is due sooner begins as much later.
        """
        late = [max(recorded_at - step.deploy_at, timedelta(0)) for step in self.steps]
        moved = (
            replace(step, deploy_at=step.deploy_at + by, in_place_at=step.in_place_at + by)
            for step, by in zip(self.steps, late, strict=True)
        )
        return replace(self, steps=tuple(moved))

    def plans_running(self) -> list[tuple[PhysicalPlan, datetime, datetime]]:
        """Which plan runs from when to when, over the horizon: each from when the job is back after its change, by the
        model. It may still have a backlog then, until its step's in_place_at.
        """
        changes = [(self.current, self.start), *((step.plan, step.runs_from) for step in self.steps)]
        ends = [*(min(start, self.end) for _, start in changes[1:]), self.end]
        return [(plan, start, end) for (plan, start), end in zip(changes, ends, strict=True) if end > start]

    def answers(self, asked: DecisionBasis, at: datetime) -> bool:
        """Whether it was made from what is asked and has not ended."""
        return at < self.end and self.basis.answers(asked)
