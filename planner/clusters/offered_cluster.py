"""A cluster whose own scaler asks for its floor: nothing is requested, and a plan runs once the scaler has got there.

The scaler reads what the ledger holds (planner/offered.py). What it runs above that is its own decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import Clock
from planner.clusters.cluster import (
    Accepted,
    Cluster,
    ClusterState,
    Failed,
    Pending,
    Refusal,
    SourceBacklog,
    Status,
    Verified,
)
from planner.clusters.cluster_record import ClusterRecord


@dataclass
class OfferedCluster:
    """The `Cluster` of a topology in planning.mode: serve. inner: where it runs; only looked at."""

    inner: Cluster
    clock: Clock
    _reached: dict[str, datetime] = field(default_factory=dict)

    def state(self) -> ClusterState:
        return self.inner.state()

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        return self.inner.operator_samples(span_s)

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        return self.inner.backlogs()

    def record(self, start: datetime, end: datetime) -> ClusterRecord | None:
        return self.inner.record(start, end)

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        running = self.state().plan.parallelism
        if unknown := sorted(set(plan.parallelism) - set(running)):
            return Refusal(plan, f"operator {unknown[0]!r} does not run; running are {', '.join(running)}")
        return Accepted(plan, expected, self.clock.now(), "it was offered to the scaler, which decides")

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        """Verified from when every operator was first seen with enough instances, whatever the scaler adds later."""
        state = self.state()
        short = {
            name: f"{name} runs {state.plan.parallelism.get(name, 0)} of {count}"
            for name, count in accepted.plan.parallelism.items()
            if state.plan.parallelism.get(name, 0) < count
        }
        if short or state.status is not Status.RUNNING:
            self._reached.clear()
            return Pending("; ".join(short.values()) or f"the topology is {state.status}")
        since = self._reached.setdefault(accepted.plan.plan_id, state.observed_at)
        return Verified(accepted.plan, since, None)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        """Refused: the offer stands, so that the scaler may still reach it."""
        return Refusal(accepted.replaced, "the plan is still offered to the scaler; veto it to take it back")
