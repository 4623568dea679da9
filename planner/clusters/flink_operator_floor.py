"""The lower bound of the Flink Kubernetes operator's own autoscaler: `job.autoscaler.vertex.min-parallelism`.

It is one number for all vertices, the largest parallelism of a plan. With the usual slot sharing that needs no more
slots than the plan, as the widest vertex determines the slots. The autoscaler reads it without a restart and applies it
with its next change: while all vertices are within its utilisation band, it changes nothing.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from engines.flink.answers import Vertex
from engines.kubernetes.resources import FLINK_DEPLOYMENT
from engines.kubernetes.server import FIELD_MANAGER, KubernetesServer, RequestRefusedError
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Verified
from planner.clusters.flink_deployment import VERTEX_FLOOR, FlinkDeployment
from planner.clusters.kubernetes_fields import ATTEMPTS, applied, until_fresh
from planner.clusters.kubernetes_workloads import reading

_MANAGER = f"{FIELD_MANAGER}-floor"
"""A separate field manager: fields that `forescale` owns would otherwise be removed with each change of the bound."""

RunningVertices = Callable[[], tuple[Mapping[str, Vertex], bool]]
"""Returns the vertex of each operator, and whether the whole job runs."""


class FlinkOperatorFloor:
    """The `ScalerFloor` of a FlinkDeployment whose job its operator's autoscaler scales."""

    def __init__(
        self,
        server: KubernetesServer,
        name: str,
        topology: Topology,
        running: RunningVertices,
        take_over: frozenset[str] = frozenset(),
    ) -> None:
        self._server, self._name, self._topology = server, name, topology
        self._running, self._take_over = running, take_over
        self._reached: tuple[int, datetime] | None = None

    def floor(self) -> PhysicalPlan:
        """The same number for every operator."""
        with reading(self._server):
            return self._uniform(max(1, self._read().floor))

    def bound_of(self, plan: PhysicalPlan) -> PhysicalPlan:
        return self._uniform(_highest(plan))

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return self._changed(plan, expected)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self._changed(accepted.replaced, accepted.plan)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        """Verified from when every operator was first seen with at least the plan's number of instances."""
        with reading(self._server):
            deployment = self._read()
        floor = _highest(accepted.plan)
        if max(1, deployment.floor) != floor:
            return Failed(
                f"{self._where}: {VERTEX_FLOOR} is {deployment.floor}, set by somebody else meanwhile; "
                "see who sets it, and let one do it"
            )
        if deployment.unsettled:
            return Pending(f"{self._where}: {deployment.unsettled}")
        vertices, runs = self._running()
        behind = [
            f"{name} runs {vertex.parallelism} < {accepted.plan.parallelism[name]}"
            for name, vertex in vertices.items()
            if vertex.parallelism < accepted.plan.parallelism[name]
        ]
        if behind or not runs:
            self._reached = None
            waits = "; ".join(behind) or "not all of its tasks run"
            return Pending(f"{self._where}: {waits}; the autoscaler keeps to its lower bound at its next change")
        if self._reached is None or self._reached[0] != floor:
            self._reached = floor, deployment.answer.at
        return Verified(accepted.plan, self._reached[1], None)

    def _uniform(self, floor: int) -> PhysicalPlan:
        return PhysicalPlan(self._topology.name, dict.fromkeys(self._topology.order, floor))

    def check_may_raise(self) -> str:
        """Dry-run a lower bound that is one higher. Returns a message; raises ClusterError if that is refused."""

        def tried() -> None:
            deployment = self._read()
            fields = {"flinkConfiguration": {VERTEX_FLOOR: str(max(1, deployment.floor) + 1)}}
            of, version = (self._server, FLINK_DEPLOYMENT, self._name, fields), deployment.answer.version
            applied(*of, version=version, take_over=self._take_over, manager=_MANAGER, dry_run=True)

        with reading(self._server):
            until_fresh(tried)
        return f"a dry run of a higher {VERTEX_FLOOR} of flinkdeployment/{self._name} was taken"

    @property
    def _where(self) -> str:
        return f"flinkdeployment/{self._name} of {self._server.place}"

    def _read(self) -> FlinkDeployment:
        return FlinkDeployment(self._server.get(FLINK_DEPLOYMENT, self._name))

    def _changed(self, plan: PhysicalPlan, expected: PhysicalPlan) -> Accepted | Refusal:
        try:
            plan.check(self._topology)
            for _ in range(ATTEMPTS):
                deployment = self._read()
                if max(1, deployment.floor) == _highest(plan):
                    return Accepted(plan, expected, deployment.answer.at)
                if reason := self._refused(plan, expected, deployment):
                    return Refusal(plan, reason)
                try:
                    answer = applied(
                        self._server,
                        FLINK_DEPLOYMENT,
                        self._name,
                        {"flinkConfiguration": {VERTEX_FLOOR: str(_highest(plan))}},
                        version=deployment.answer.version,
                        take_over=self._take_over,
                        manager=_MANAGER,
                    )
                except RequestRefusedError as refused:
                    if not refused.stale:
                        raise
                else:
                    return Accepted(plan, expected, answer.at)
        except (ModelError, RequestRefusedError) as refused:
            return Refusal(plan, str(refused))
        return Refusal(plan, f"{self._where} changes more often than it can be read; try again")

    def _refused(self, plan: PhysicalPlan, expected: PhysicalPlan, deployment: FlinkDeployment) -> str | None:
        if not deployment.autoscaled:
            return (
                f"{self._where} has no autoscaler that would keep to a lower bound; set job.autoscaler.enabled, or "
                "leave planning.mode: floor"
            )
        if max(1, deployment.floor) != _highest(expected):
            return (
                f"{self._where}: {VERTEX_FLOOR} is {deployment.floor}, not {_highest(expected)} as was assumed; "
                "make the decision again from what holds"
            )
        if _highest(plan) > deployment.ceiling:
            return (
                f"{self._where}: a lower bound of {_highest(plan)} > job.autoscaler.vertex.max-parallelism "
                f"{deployment.ceiling}; raise that, or lower the plan"
            )
        return None


def _highest(plan: PhysicalPlan) -> int:
    return max(plan.parallelism.values())
