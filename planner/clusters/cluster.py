"""The role of a cluster: report its state, measure it, change the plan by compare-and-set, verify, and undo."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster_record import ClusterRecord


class Status(StrEnum):
    RUNNING = "running"
    RESCALING = "rescaling"
    DOWN = "down"


@dataclass(frozen=True)
class ClusterState:
    """What the cluster runs now.

    running_since: since when the plan has run without interruption, None while it does not run. free_slots: number of
    instances that could still be placed, None if the cluster does not report it. most: instances of each operator that
    no change of plan exceeds, as it was submitted (Storm: tasks); without those that the engine does not bound so.
    """

    topology: str
    plan: PhysicalPlan
    status: Status
    observed_at: datetime
    running_since: datetime | None
    free_slots: int | None
    most: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Taken:
    """Tuples that a source has taken in since the running plan began, age_s ago."""

    age_s: float
    tuples: float


@dataclass(frozen=True)
class SourceBacklog:
    """The backlog of one source. tuples: None if unknown. lag_s: the longest wait of any of them, None if unknown;
    `unmeasured` says why. taken: at the same moment, None if the cluster does not count it.
    """

    tuples: float | None
    lag_s: float | None
    unmeasured: str = ""
    taken: Taken | None = field(default=None, compare=False)


Backlogs = Callable[[], Mapping[str, SourceBacklog]]
"""Returns the backlog of every source at the time of the call; may take some seconds."""


@dataclass(frozen=True)
class Accepted:
    """The cluster has accepted the plan; ask `progress` whether it runs. note: what people should know about how it is
    carried out; empty if it is as expected.
    """

    plan: PhysicalPlan
    replaced: PhysicalPlan
    at: datetime
    note: str = ""


@dataclass(frozen=True)
class Refusal:
    """The cluster has refused the plan and changed nothing. reason names the value, the bound and the remedy."""

    plan: PhysicalPlan
    reason: str


@dataclass(frozen=True)
class Verified:
    """The plan runs: parallelism as requested, all instances running, since a moment after the change.

    downtime_s: of the change; state_gib: of the job's keyed state; None if the cluster does not report it.
    """

    plan: PhysicalPlan
    running_since: datetime
    downtime_s: float | None
    state_gib: float | None = None


@dataclass(frozen=True)
class Pending:
    """The change is under way."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The change ended in something else than the plan: the job is down, or runs another plan."""

    reason: str


class PlanSetter(Protocol):
    """Accepts plans by compare-and-set. Every method raises ClusterError when the cluster cannot be reached."""

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        """Request a plan, on condition that the present one has the parallelism of `expected`.

        A request for the present plan is accepted and changes nothing. A plan with an operator that the cluster does
        not have, or that needs more slots than are free, is refused.
        """
        ...

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        """The state of an accepted plan."""
        ...

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        """Return to the plan that `accepted` replaced, whether or not the change was completed."""
        ...


class Cluster(PlanSetter, Protocol):
    """One running topology on one cluster; a plan that it accepts is the plan that runs."""

    def state(self) -> ClusterState: ...

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """Counters per instance over about the last, or the next, span_s seconds (Flink: waits for them)."""
        ...

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        """Backlog of each source now, as far as the cluster reports it (Flink: takes some seconds)."""
        ...

    def record(self, start: datetime, end: datetime) -> ClusterRecord | None:
        """What happened in the whole minutes within [start, end); None if the cluster keeps no such record."""
        ...


class ScalerFloor(PlanSetter, Protocol):
    """The lower bound of a scaler that the cluster itself runs, such as minReplicas of a Kubernetes HPA.

    A plan that it accepts becomes that bound; the scaler decides what runs above it. Verified: the bound is set and
    every operator has at least as many running instances; the downtime is unknown. Undone: the former bound is set
    again.
    """

    def floor(self) -> PhysicalPlan:
        """The present bound."""
        ...

    def bound_of(self, plan: PhysicalPlan) -> PhysicalPlan:
        """What `floor` returns once `plan` is the bound: some scalers have no bound per operator."""
        ...


@runtime_checkable
class TakesFloor(Protocol):
    """A Cluster whose own scaler accepts a lower bound."""

    def scaler_floor(self) -> ScalerFloor: ...


@runtime_checkable
class StopsFirst(Protocol):
    """A Cluster that stops the job before it starts it with a plan: an interruption in between leaves it down."""

    def stopped_for(self, plan: PhysicalPlan) -> bool:
        """Whether the job was stopped for this plan and not started since. Raises ClusterError when the cluster cannot
        be reached.
        """
        ...


@runtime_checkable
class WaitsForSlots(Protocol):
    """A PlanSetter that may request missing slots from a resource manager, and waits for them before it accepts
    a plan.
    """

    def apply_by(self, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime | None) -> Accepted | Refusal:
        """As `apply`. latest: until when to wait for slots; None: as long as the cluster's settings allow."""
        ...


def applied_by(
    setter: PlanSetter, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime
) -> Accepted | Refusal:
    """The answer of `apply`; waits for slots no longer than until `latest`, when the plan is of no more use."""
    if isinstance(setter, WaitsForSlots):
        return setter.apply_by(plan, expected=expected, latest=latest)
    return setter.apply(plan, expected=expected)


class ByChange:
    """A cluster that applies and undoes plans by one kind of request, `_changed`."""

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return self._changed(plan, expected, undoing=False)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self._changed(accepted.replaced, accepted.plan, undoing=True)

    def _changed(self, plan: PhysicalPlan, replaced: PhysicalPlan, *, undoing: bool) -> Accepted | Refusal:
        """replaced: what is assumed to run; undoing: it is the plan to undo, rather than that of a decision."""
        raise NotImplementedError
