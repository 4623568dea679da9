"""The role of a cluster: tell what runs, measure it, change the plan compare-and-set, verify, and undo."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

    running_since: since when the plan has run without a break, None while it does not run.
    free_slots: instances that could still be placed, None where the cluster does not say.
    """

    topology: str
    plan: PhysicalPlan
    status: Status
    observed_at: datetime
    running_since: datetime | None
    free_slots: int | None


@dataclass(frozen=True)
class SourceBacklog:
    """What waits at one source. tuples: how many, None where that is not known. lag_s: the longest that one of them has
    waited, None where nobody can tell, and `unmeasured` says why.
    """

    tuples: float | None
    lag_s: float | None
    unmeasured: str = ""


Backlogs = Callable[[], Mapping[str, SourceBacklog]]
"""Of every source, as of when it is called; may take some seconds."""


@dataclass(frozen=True)
class Accepted:
    """The cluster took the plan. Accepted is not done: ask `progress`. note: what people should know of how it is
    carried out; empty where it is as expected.
    """

    plan: PhysicalPlan
    replaced: PhysicalPlan
    at: datetime
    note: str = ""


@dataclass(frozen=True)
class Refusal:
    """The cluster did not take the plan, nothing has changed. reason names the value, the bound and the remedy."""

    plan: PhysicalPlan
    reason: str


@dataclass(frozen=True)
class Verified:
    """The plan runs: parallelism as asked, all instances running, since a moment after the change.

    downtime_s, state_gib: of the change and of the job's keyed state, None where the cluster does not tell.
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
    """The change came to another end than the plan: the job is down, or runs something else."""

    reason: str


class PlanSetter(Protocol):
    """What takes a plan, compare-and-set. Every method raises ClusterError when the cluster cannot be reached."""

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        """Ask for a plan, only if the present one has the parallelism of `expected` (compare-and-set).

        Asking for the present plan is accepted and changes nothing. A plan with an operator that the cluster does not
        know, or that needs more slots than are free, is refused.
        """
        ...

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        """How far an accepted plan is."""
        ...

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        """Go back to what `accepted` replaced, whether or not the change came through."""
        ...


class Cluster(PlanSetter, Protocol):
    """One running topology on one cluster; the plan that it takes is the one that runs."""

    def state(self) -> ClusterState: ...

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """Counters per instance over about the last, or the next, span_s seconds (Flink: waits for them)."""
        ...

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        """What waits at each source now, as far as the cluster tells (Flink: asks it for some seconds)."""
        ...

    def record(self, start: datetime, end: datetime) -> ClusterRecord | None:
        """What happened in the whole minutes within [start, end); None where the cluster keeps no such record."""
        ...


class ScalerFloor(PlanSetter, Protocol):
    """The lower bound of a scaler that the cluster runs itself, such as minReplicas of a Kubernetes HPA.

    The plan that it takes is that bound; the scaler decides what runs above it. Verified: the bound is set, and every
    operator has at least as many running instances; the downtime is not known. Undone: the former bound is set again.
    """

    def floor(self) -> PhysicalPlan:
        """The bound that is set now."""
        ...

    def bound_of(self, plan: PhysicalPlan) -> PhysicalPlan:
        """What `floor` tells once a plan is the bound: not every scaler has a bound for each operator."""
        ...


@runtime_checkable
class TakesFloor(Protocol):
    """A Cluster whose own scaler can be bounded from below."""

    def scaler_floor(self) -> ScalerFloor: ...


@runtime_checkable
class StopsFirst(Protocol):
    """A Cluster that stops the job before it starts it with a plan: whoever is cut short in between leaves it down."""

    def stopped_for(self, plan: PhysicalPlan) -> bool:
        """Whether the job is down because it was stopped for this plan and not started since. Raises ClusterError when
        the cluster cannot be reached.
        """
        ...


@runtime_checkable
class WaitsForSlots(Protocol):
    """A PlanSetter that may ask a resource manager for slots that lack, and wait for them before it takes a plan."""

    def apply_by(self, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime | None) -> Accepted | Refusal:
        """As `apply`. latest: how long slots are waited for at most; None: as long as the cluster's settings say."""
        ...


def applied_by(
    setter: PlanSetter, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime
) -> Accepted | Refusal:
    """What `apply` answers; nothing is waited for beyond a moment after which the plan is of no use."""
    if isinstance(setter, WaitsForSlots):
        return setter.apply_by(plan, expected=expected, latest=latest)
    return setter.apply(plan, expected=expected)
