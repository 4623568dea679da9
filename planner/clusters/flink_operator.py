"""A Flink job run by the Flink Kubernetes operator: changed through its FlinkDeployment, read over Flink's REST."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import httpx

from engines.flink.answers import ENDED, Job, Vertex, moment
from engines.flink.rest import FlinkRest
from engines.kubernetes.resources import FLINK_DEPLOYMENT
from engines.kubernetes.server import KubernetesServer, RequestRefusedError
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clock import Clock
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
from planner.clusters.compare_and_set import brief, not_as_assumed
from planner.clusters.flink import FlinkCluster, downtime_s
from planner.clusters.flink_deployment import FlinkDeployment
from planner.clusters.flink_operator_floor import FlinkOperatorFloor
from planner.clusters.flink_vertices import bounded_topology, operator_vertices
from planner.clusters.kubernetes_fields import ATTEMPTS, applied, until_fresh
from planner.clusters.kubernetes_quota import beyond_quota
from planner.clusters.kubernetes_workloads import reading
from planner.errors import ClusterError


@dataclass(frozen=True)
class _Seen:
    """One look at object and job. running, asked: parallelism per operator, present and requested by the object."""

    deployment: FlinkDeployment
    job: Job
    vertices: Mapping[str, Vertex]

    @property
    def running(self) -> dict[str, int]:
        return {name: vertex.parallelism for name, vertex in self.vertices.items()}

    @property
    def asked(self) -> dict[str, int]:
        by_vertex = self.deployment.asked(self.job)
        return {name: by_vertex[vertex.id] for name, vertex in self.vertices.items()}

    @property
    def unsettled(self) -> str:
        if reason := self.deployment.unsettled:
            return reason
        return "" if self.job.runs else f"the job is {self.job.state}, not all of its tasks run"


class FlinkOperatorCluster(ByChange):
    """The `Cluster` of one FlinkDeployment. url: of its job's REST interface; operators: operator → vertex name where
    they differ; take_over: field managers whose fields may become ours. warm_s, container_cores, clock: as for
    FlinkCluster. transport: replaces the network to Flink in tests of rare answers.
    """

    _beside_autoscaler = "set cluster.autoscaler: true and planning.mode: floor, or switch that autoscaler off"

    def __init__(
        self,
        server: KubernetesServer,
        name: str,
        url: str,
        topology: Topology,
        operators: Mapping[str, str] | None = None,
        take_over: frozenset[str] = frozenset(),
        *,
        timeout_s: float = 10.0,
        warm_s: float = 20.0,
        container_cores: float | None = None,
        clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._server, self._name, self._url = server, name, url
        self._declared, self._vertex_names, self._take_over = topology, dict(operators or {}), take_over
        self._timeout_s, self._warm_s, self._clock, self._transport = timeout_s, warm_s, clock, transport
        self._container_cores = container_cores
        self._rest = FlinkRest(url, ClusterError, timeout_s=timeout_s, transport=transport)

    def state(self) -> ClusterState:
        """free_slots is None: the operator's Flink requests task managers as needed."""
        with self._rest.operation():
            seen = self._look()
            ended = seen.deployment.lost or seen.job.state in ENDED
            settled = not seen.unsettled and seen.running == seen.asked
            return ClusterState(
                topology=self._declared.name,
                plan=self._plan(seen.running),
                status=Status.DOWN if ended else Status.RUNNING if settled else Status.RESCALING,
                observed_at=moment(seen.job.now),
                running_since=self._rest.running_since(seen.job) if seen.job.runs else None,
                free_slots=None,
            )

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        return self._flink().operator_samples(span_s)

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        return self._flink().backlogs()

    def record(self, start: datetime, end: datetime) -> None:
        """None: Flink reports only the present."""

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        deployment = self._read()
        if deployment.lost:
            return Failed(f"{self._where}: {deployment.unsettled}; see the events of the object")
        if deployment.unsettled:  # Flink does not answer during a redeployment
            return Pending(f"{self._where}: {deployment.unsettled}")
        seen = self._look()
        wanted = dict(accepted.plan.parallelism)
        if seen.asked != wanted:
            return Failed(
                f"{self._where} was asked for {brief(seen.asked)} meanwhile, by somebody else; "
                "see who changes it, and let one do it"
            )
        if seen.unsettled or seen.running != wanted:
            return Pending(f"{self._where} runs {brief(seen.running)}; {seen.unsettled or 'the rescale is to come'}")
        since = self._rest.running_since(seen.job)
        state_bytes = self._rest.state_bytes(seen.job.jid)
        return Verified(
            accepted.plan,
            since,
            downtime_s(self._rest, accepted, seen.job.jid, since),
            sum(state_bytes.values()) / 2**30 if state_bytes else None,
        )

    def check_may_rescale(self) -> str:
        """Dry-run one more instance of each vertex, and read the quotas that limit plans. Returns a message; raises
        ClusterError if either is refused.
        """

        def tried() -> None:
            seen = self._look()
            more = {vertex: count + 1 for vertex, count in seen.deployment.asked(seen.job).items()}
            fields, version = seen.deployment.fields(more), seen.deployment.answer.version
            of = self._server, FLINK_DEPLOYMENT, self._name, fields
            applied(*of, version=version, take_over=self._take_over, dry_run=True)

        with reading(self._server):
            self._server.quotas()
            until_fresh(tried)
        return f"a dry run of a change of flinkdeployment/{self._name} was taken"

    @property
    def _where(self) -> str:
        return f"flinkdeployment/{self._name} of {self._server.place}"

    def _read(self) -> FlinkDeployment:
        with reading(self._server):
            return FlinkDeployment(self._server.get(FLINK_DEPLOYMENT, self._name))

    def _look(self) -> _Seen:
        deployment = self._read()
        if deployment.job_id is None:
            raise ClusterError(f"{self._where} has no job yet: {deployment.unsettled}; ask again once it runs")
        job = self._rest.job(deployment.job_id)
        return _Seen(deployment, job, operator_vertices(job, self._declared, self._vertex_names))

    def _running(self) -> tuple[Mapping[str, Vertex], bool]:
        """The vertex of each operator, and whether the whole job runs."""
        seen = self._look()
        return seen.vertices, seen.job.runs

    def _changed(self, plan: PhysicalPlan, expected: PhysicalPlan, *, undoing: bool) -> Accepted | Refusal:
        try:
            for _ in range(ATTEMPTS):
                seen = self._look()
                if reason := self._misfit(plan, seen):
                    return Refusal(plan, reason)
                if dict(plan.parallelism) == seen.asked:
                    return Accepted(plan, expected, seen.deployment.answer.at)
                if reason := self._overtaken(expected, seen, undoing=undoing):
                    return Refusal(plan, reason)
                try:
                    answer = applied(
                        self._server,
                        FLINK_DEPLOYMENT,
                        self._name,
                        seen.deployment.fields(_by_vertex(plan, seen)),
                        version=seen.deployment.answer.version,
                        take_over=self._take_over,
                    )
                except RequestRefusedError as refused:
                    if not refused.stale:  # stale: the operator wrote its status meanwhile, so look again
                        raise
                else:
                    return Accepted(plan, expected, answer.at)
        except RequestRefusedError as refused:
            return Refusal(plan, str(refused))
        return Refusal(plan, f"{self._where} changes more often than it can be read; try again")

    def _overtaken(self, expected: PhysicalPlan, seen: _Seen, *, undoing: bool) -> str | None:
        """Why the change would overwrite somebody else's, or None."""
        if undoing:
            if seen.asked == dict(expected.parallelism):
                return None
            return (
                f"{self._where} was asked for {brief(seen.asked)} after {expected.brief()}; "
                "decide anew instead of undoing what somebody else changed"
            )
        if reason := not_as_assumed(self._where, seen.running, expected):
            return reason
        if seen.unsettled or seen.asked != seen.running:
            return (
                f"{self._where} is on its way from {expected.brief()} to {brief(seen.asked)} ({seen.unsettled}); "
                "wait until it is there, and decide from what runs then"
            )
        return None

    def _misfit(self, plan: PhysicalPlan, seen: _Seen) -> str | None:
        """Why the job cannot run the plan, or None."""
        if seen.deployment.lost or seen.job.state in ENDED:
            return f"{self._where}: {seen.deployment.unsettled}; start it again, then decide from what runs"
        try:
            plan.check(bounded_topology(self._declared, seen.vertices))
        except ModelError as error:
            return str(error)
        if dict(plan.parallelism) == seen.asked:
            return None
        if seen.deployment.autoscaled:
            return (
                f"{self._where} is scaled by the autoscaler of its operator (job.autoscaler.enabled), which would undo "
                f"the plan; {self._beside_autoscaler}"
            )
        wanted = seen.deployment.pods_wanted(seen.job, seen.deployment.asked(seen.job), _by_vertex(plan, seen))
        return beyond_quota([wanted], self._server.quotas()) if wanted.pods > 0 else None

    def _plan(self, parallelism: Mapping[str, int]) -> PhysicalPlan:
        try:
            return PhysicalPlan(self._declared.name, parallelism)
        except ModelError as error:  # before it gets its first slots, a job has a parallelism of -1
            raise ClusterError(f"{self._where} has no plan yet: {error}; ask again once it runs") from None

    def _flink(self) -> FlinkCluster:
        """The same job through its REST interface alone."""
        return FlinkCluster(
            self._url,
            self._read().job_name,
            self._declared,
            self._vertex_names,
            timeout_s=self._timeout_s,
            warm_s=self._warm_s,
            container_cores=self._container_cores,
            clock=self._clock,
            transport=self._transport,
        )


class AutoscaledFlinkOperatorCluster(FlinkOperatorCluster):
    """The same for a job that the operator's autoscaler scales: plans are lower bounds for it."""

    _beside_autoscaler = (
        "schedules raise its lower bound (planning.mode: floor), for any other plan set its bounds in the object by "
        "hand"
    )

    def check_may_rescale(self) -> str:
        return self.scaler_floor().check_may_raise()

    def scaler_floor(self) -> FlinkOperatorFloor:
        return FlinkOperatorFloor(self._server, self._name, self._declared, self._running, self._take_over)


def _by_vertex(plan: PhysicalPlan, seen: _Seen) -> Mapping[str, int]:
    """Parallelism of all vertices; vertices that are not operators of the topology keep theirs."""
    ours = {seen.vertices[name].id: count for name, count in plan.parallelism.items()}
    return {**seen.deployment.asked(seen.job), **ours}
