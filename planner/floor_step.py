"""A step of a schedule in floor mode, where its plan is only a lower bound of what runs.

If the cluster's own scaler accepts a lower bound, that bound is raised to the plan and the scaler decides above it.
Otherwise the running plan is raised. forescale lowers only what it raised itself, while nobody has changed that since,
and never below the count from before: it never lowers what others have set. The ledger stores the resulting request
before the cluster is asked, so compare-and-set, verification and undoing apply to it; the schedule keeps the floor
itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import Clock
from planner.clusters.cluster import (
    Accepted,
    Cluster,
    ClusterState,
    Failed,
    PlanSetter,
    Refusal,
    ScalerFloor,
    Status,
    TakesFloor,
    Verified,
    applied_by,
)
from planner.clusters.settled_state import settled
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.limits import raised_within
from planner.step_cause import StepCause, StepCauseKind

MAX_LOOKED_BACK = 200
"""Number of verified steps that are searched for forescale's own raises."""
MAX_TRIES = 3
"""How often the plan is recomputed when somebody else changes it between the look and the request."""


@dataclass(frozen=True)
class FloorStep:
    """max_instances: most instances that may run. timeout_s, poll_s: how long to wait for somebody else's rescale, and
    how often to look. Every method raises ClusterError when the cluster cannot be reached.
    """

    step_id: str
    ledger: Ledger
    cluster: Cluster
    clock: Clock
    by: str
    max_instances: int
    timeout_s: float
    poll_s: float

    @property
    def scaler(self) -> ScalerFloor | None:
        return self.cluster.scaler_floor() if isinstance(self.cluster, TakesFloor) else None

    @property
    def setter(self) -> PlanSetter:
        return self.scaler or self.cluster

    def present(self) -> PhysicalPlan:
        """The plan, or bound, that compare-and-set compares with."""
        return self.cluster.state().plan if self.scaler is None else self.scaler.floor()

    def resolved(self, expected: StepState) -> StepEntry:
        """Work out from what is there now what to ask for, store that in the ledger, and return the step with it."""
        step = self.ledger.step(self.step_id)
        floor = self.ledger.planned(step)
        scaler = self.scaler
        replaces = self._settled().plan if scaler is None else scaler.floor()
        outcomes = self.ledger.outcomes(step.topology, states=(StepState.VERIFIED,), limit=MAX_LOOKED_BACK)
        verified = [each for each, _ in reversed(outcomes) if each.schedule_id is not None]
        if scaler is not None:
            verified = [replace(each, plan=scaler.bound_of(each.plan)) for each in verified]
        plan = floored(replaces, floor, own_raises(verified), self.max_instances)
        return self.ledger.assume(
            step.id,
            expected=expected,
            plan=plan,
            replaces=replaces,
            at=self.clock.now(),
            by=self.by,
            why=StepCause(
                StepCauseKind.FLOORED,
                plan=dict(plan.parallelism),
                floor=dict(floor.parallelism),
                bound=self.max_instances,
                of_scaler=scaler is not None,
            ),
        )

    def asked_again(self, step: StepEntry, answer: Accepted | Refusal) -> tuple[StepEntry, Accepted | Refusal]:
        """Retry after a refusal because somebody else changed the plan: the floor is applied to what runs now."""
        for _ in range(MAX_TRIES):
            if isinstance(answer, Accepted):
                break
            if self.scaler is None:
                self._settled()
            if self.present().same_parallelism(step.replaces):
                break
            step = self.resolved(StepState.DEPLOYING)
            answer = applied_by(self.setter, step.plan, expected=step.replaces, latest=step.expires_at)
        return step, answer

    def kept(self, step: StepEntry, failed: Failed) -> Verified | Failed:
        """Verified if somebody else has changed the plan meanwhile and every operator still has its floor."""
        if self.scaler is not None:
            return failed
        state, floor = self._settled(), self.ledger.planned(step).parallelism
        enough = all(
            state.plan.parallelism.get(name, 0) >= min(count, floor[name])
            for name, count in step.plan.parallelism.items()
        )
        if state.status is Status.RUNNING and state.running_since is not None and enough:
            return Verified(state.plan, state.running_since, None)
        return failed

    def _settled(self) -> ClusterState:
        return settled(self.cluster, self.clock, self.timeout_s, self.poll_s)


@dataclass(frozen=True)
class OwnRaise:
    """For one operator: the count that forescale set last, and the count that somebody else had set before."""

    to: int
    before: int


def own_raises(verified: Iterable[StepEntry]) -> dict[str, OwnRaise]:
    """Raises by operator, for the operators whose count is forescale's own as far as is known.

    verified: steps of forescale's schedules, oldest first; each has the plan before and after.
    """
    own = dict[str, OwnRaise]()
    for step in verified:
        for name, after in step.plan.parallelism.items():
            before, known = step.replaces.parallelism.get(name, after), own.get(name)
            if known is not None and known.to != before:
                known = None  # somebody else has changed it since
                del own[name]
            if after != before:
                own[name] = OwnRaise(after, min(after, before if known is None else known.before))
    return own


def floored(
    running: PhysicalPlan, floor: PhysicalPlan, own: Mapping[str, OwnRaise], max_instances: int
) -> PhysicalPlan:
    """The plan to run over a floor. If max_instances are too few, the operator that lacks the largest share comes
    first.
    """
    counts = {
        name: _lowered(count, floor.parallelism[name], own.get(name)) for name, count in running.parallelism.items()
    }
    wanted = {name: max(count, floor.parallelism[name]) for name, count in counts.items()}
    return PhysicalPlan(running.topology, raised_within(counts, wanted, max_instances))


def _lowered(count: int, floor: int, own: OwnRaise | None) -> int:
    return count if own is None or own.to != count else min(count, max(floor, own.before))
