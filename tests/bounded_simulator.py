"""A simulator with a scaler of its own that takes a lower bound, as an HPA does: it is what `TakesFloor` asks for.

Where the bound is above what runs, the scaler brings it there at once; what it does above the bound, `scaled` says.
"""

from dataclasses import replace

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Status, Verified
from planner.clusters.simulator import SimulatedCluster


class BoundedSimulator:
    """A `Cluster` by the simulator, and a `ScalerFloor` of its own."""

    def __init__(self, simulator: SimulatedCluster, bound: PhysicalPlan) -> None:
        self.simulator, self.bound = simulator, bound
        self.state, self.operator_samples = simulator.state, simulator.operator_samples
        self.backlogs, self.record = simulator.backlogs, simulator.record

    def scaler_floor(self) -> "_Bound":
        return _Bound(self)

    def scaled(self, plan: PhysicalPlan) -> None:
        """The scaler goes to a plan."""
        assert isinstance(self.simulator.apply(plan, expected=self.state().plan), Accepted)

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return self.simulator.apply(plan, expected=expected)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        return self.simulator.progress(accepted)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self.simulator.undo(accepted)


class _Bound:
    def __init__(self, cluster: BoundedSimulator) -> None:
        self._cluster = cluster

    def floor(self) -> PhysicalPlan:
        return self._cluster.bound

    def bound_of(self, plan: PhysicalPlan) -> PhysicalPlan:
        return plan

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        cluster, before = self._cluster, self._cluster.bound
        if before.same_parallelism(plan):
            return Accepted(plan, expected, cluster.state().observed_at)
        if not before.same_parallelism(expected):
            return Refusal(plan, f"the floor is {before.brief()}, not {expected.brief()}; decide anew from it")
        running = cluster.state().plan
        more = {name: max(count, plan.parallelism[name]) for name, count in running.parallelism.items()}
        answer = cluster.simulator.apply(PhysicalPlan(running.topology, more), expected=running)
        if isinstance(answer, Refusal):
            return replace(answer, plan=plan)
        cluster.bound = plan
        return Accepted(plan, before, answer.at)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        if not self._cluster.bound.same_parallelism(accepted.plan):
            return Failed(f"the floor is {self._cluster.bound.brief()}, not {accepted.plan.brief()}")
        state, least = self._cluster.state(), accepted.plan.parallelism
        if state.status is not Status.RUNNING or state.running_since is None:
            return Pending(f"the job is {state.status}")
        if any(state.plan.parallelism[name] < count for name, count in least.items()):
            return Pending(f"{state.plan.brief()} runs, less than the floor")
        return Verified(accepted.plan, state.running_since, None)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self.apply(accepted.replaced, expected=accepted.plan)
