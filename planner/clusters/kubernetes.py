"""A topology whose operators are Deployments or StatefulSets of one namespace, scaled by their replicas."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from engines.kubernetes.resources import SCALERS, WORKLOADS, object_name
from engines.kubernetes.server import KubernetesServer, RequestRefusedError
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clusters.cluster import (
    Accepted,
    ByChange,
    ClusterState,
    Failed,
    Pending,
    Refusal,
    SourceBacklog,
    Status,
    Verified,
)
from planner.clusters.kubernetes_fields import PlannedField, PlannedFields
from planner.clusters.kubernetes_floor import KubernetesFloor
from planner.clusters.kubernetes_quota import PodsWanted, beyond_quota, pods_left
from planner.clusters.kubernetes_workloads import WorkloadState, read_workloads, reading
from planner.errors import ClusterError, NotMeasurableError


class KubernetesCluster(ByChange):
    """The `Cluster` of workloads. The plan is what their specs request; the status says whether that runs.

    operators: per operator its workload (`deployment/orders`), or the workload's scaler (`hpa/orders`), which plans
    must not contradict. take_over: field managers whose replicas may become ours.
    """

    def __init__(
        self,
        server: KubernetesServer,
        topology: Topology,
        operators: Mapping[str, str],
        take_over: frozenset[str] = frozenset(),
    ) -> None:
        self._server, self._topology, self._take_over = server, topology, take_over
        self._objects = {name: object_name(operators[name]) for name in topology.order}

    def state(self) -> ClusterState:
        """The requested plan. free_slots: number of pods left by the namespace's quotas."""
        with reading(self._server):
            states = read_workloads(self._server, self._objects)
            quotas = self._server.quotas()
        settled = not any(state.unsettled for state in states.values())
        down = any(state.ready == 0 for state in states.values())
        return ClusterState(
            topology=self._topology.name,
            plan=self._plan(states),
            status=Status.RUNNING if settled else Status.DOWN if down else Status.RESCALING,
            observed_at=max(state.observed_at for state in states.values()),
            running_since=max(state.since for state in states.values()) if settled else None,
            free_slots=pods_left(quotas),
        )

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """Always raises NotMeasurableError: Kubernetes counts replicas, not tuples."""
        raise NotMeasurableError(
            f"{self._server.place} counts no tuples; measure the service times where they are known and give them to "
            "`forescale model calibrate --samples`, or name the services' request durations in the section services"
        )

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        unknown = SourceBacklog(None, None, f"{self._server.place} does not report backlogs")
        return dict.fromkeys(self._topology.sources, unknown)

    def record(self, start: datetime, end: datetime) -> None:
        """None: Kubernetes reports only the present."""

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        with reading(self._server):
            states = read_workloads(self._server, self._objects)
        running = self._plan(states)
        if not running.same_parallelism(accepted.plan):
            return Failed(
                f"{self._server.place} was asked for {running.brief()} meanwhile, by somebody else; "
                "see who scales these workloads, and let one do it"
            )
        if unsettled := [state.unsettled for state in states.values() if state.unsettled]:
            return Pending("; ".join(unsettled))
        # Whether replicas paused for one another depends on what runs in them, so the downtime is unknown.
        downtime_s = 0.0 if accepted.replaced.same_parallelism(accepted.plan) else None
        return Verified(accepted.plan, max(state.since for state in states.values()), downtime_s)

    def check_may_rescale(self) -> str:
        """Dry-run one more replica of each workload, and read the quotas that limit plans. Returns a message; raises
        ClusterError if either is refused.
        """
        fields = self._fields()
        with reading(self._server):
            self._server.quotas()
            fields.try_change({name: one.count + 1 for name, one in fields.look().items()})
        return "a dry run of one replica more of each workload was taken"

    def _changed(self, plan: PhysicalPlan, expected: PhysicalPlan, *, undoing: bool) -> Accepted | Refusal:
        try:
            plan.check(self._topology)
            if reason := self._misfit(plan):
                return Refusal(plan, reason)
            at = self._fields().change(plan.parallelism, expected.parallelism, undoing=undoing)
        except (ModelError, RequestRefusedError) as refused:
            return Refusal(plan, str(refused))
        return Accepted(plan, expected, at)

    def _misfit(self, plan: PhysicalPlan) -> str | None:
        """Why the namespace cannot run the plan, or None."""
        seen = read_workloads(self._server, self._objects)
        changed = [name for name, state in seen.items() if state.asked != plan.parallelism[name]]
        if scaled := [name for name in changed if self._objects[name].resource in SCALERS]:
            return (
                f"operator {scaled[0]!r} is scaled by {self._objects[scaled[0]]}, which would undo the plan; schedules "
                "raise its lower bound (planning.mode: floor), for any other plan set the bounds there by hand"
            )
        added = [PodsWanted(plan.parallelism[name] - seen[name].asked, seen[name].template) for name in changed]
        return beyond_quota(added, self._server.quotas()) if sum(one.pods for one in added) > 0 else None

    def _fields(self) -> PlannedFields:
        fields = {
            name: PlannedField(one.resource, one.name, "replicas", 1, scale=True)
            for name, one in self._objects.items()
            if one.resource in WORKLOADS
        }
        return PlannedFields(self._server, fields, self._take_over)

    def _plan(self, states: Mapping[str, WorkloadState]) -> PhysicalPlan:
        try:
            return PhysicalPlan(self._topology.name, {name: state.asked for name, state in states.items()})
        except ModelError as error:
            raise ClusterError(f"{self._server.place} has no plan: {error}; scale what is at 0 up first") from None


class AutoscaledKubernetesCluster(KubernetesCluster):
    """The same if scalers scale all operators, whether they are named or not: plans are lower bounds for them."""

    def check_may_rescale(self) -> str:
        with reading(self._server):
            read_workloads(self._server, self._objects)
            self._server.quotas()
        return self.scaler_floor().check_may_raise()

    def _plan(self, states: Mapping[str, WorkloadState]) -> PhysicalPlan:
        """What a scaler has taken to zero counts as 1: every operator of a plan has an instance."""
        return PhysicalPlan(self._topology.name, {name: max(1, state.asked) for name, state in states.items()})

    def scaler_floor(self) -> KubernetesFloor:
        return KubernetesFloor(self._server, self._topology, self._objects, self._take_over)
