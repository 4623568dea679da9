"""A topology on a Flink session or application cluster, rescaled in place by the adaptive scheduler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Unpack

from engines.flink.answers import ENDED, LEFT, Job, Vertex, moment
from engines.flink.rest import POLL_S, FlinkRest, RequestRefusedError
from engines.http import Connection
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.operator_profile import Feature
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.wording import count_of
from planner.clock import Clock, RealClock
from planner.clusters.cluster import Accepted, ClusterState, Failed, Pending, Refusal, SourceBacklog, Status, Verified
from planner.clusters.compare_and_set import brief, not_as_assumed
from planner.clusters.flink_backlog import Queue, queue_reading, source_backlogs
from planner.clusters.flink_checkpoint import AGAIN_S, RescaleCheckpoint
from planner.clusters.flink_counters import Read, read_counters, read_samples, shortest_span_s
from planner.clusters.flink_features import features_of_chain, own_scaler_sign, reported_features
from planner.clusters.flink_processors import processors
from planner.clusters.flink_vertices import bounded_topology, operator_vertices, slots_needed
from planner.clusters.slots_command import SlotsCommand, await_slots
from planner.errors import ClusterError

# Extra time for Flink's counters to move by the span.
_COUNTERS_LATE_S = 60.0
# How long to wait for a job that is rescaling or restarting before it is measured.
_START_LATE_S = 300.0


@dataclass(frozen=True)
class _Repeated:
    """For a job and the moment of a request: when the next checkpoint for it is asked for, wait_s after the last."""

    asked: tuple[str, datetime]
    wait_s: float
    due_ms: float


@dataclass(frozen=True)
class JobLook:
    """One look at the job. running, asked: parallelism per operator, present and requested."""

    job: Job
    vertices: Mapping[str, Vertex]
    asked_by_vertex: Mapping[str, int]

    @property
    def running(self) -> Mapping[str, int]:
        return {name: vertex.parallelism for name, vertex in self.vertices.items()}

    @property
    def asked(self) -> Mapping[str, int]:
        return {name: self.asked_by_vertex[vertex.id] for name, vertex in self.vertices.items()}


class FlinkCluster:
    """The `Cluster` of one Flink job. Flink decides where subtasks are placed: a plan's packing is ignored.

    url: of the REST interface. operators: operator → vertex name where they differ. slots_command: requests missing
    slots; without it a plan that needs more slots than exist is refused. beside_scaler: whether to change a job that
    Flink's own autoscaler manages. warm_s: how long after a start counters are ignored, as subtasks count as busy while
    they restore and connect. container_cores: of a task manager, if declared: Flink does not see its quota. clock: for
    waiting on counters and slots. connection: to the REST interface.
    """

    def __init__(
        self,
        url: str,
        job_name: str,
        topology: Topology,
        operators: Mapping[str, str] | None = None,
        *,
        slots_command: SlotsCommand | None = None,
        beside_scaler: bool = False,
        warm_s: float = 20.0,
        container_cores: float | None = None,
        clock: Clock | None = None,
        **connection: Unpack[Connection],
    ) -> None:
        self._rest = FlinkRest(url, ClusterError, **connection)
        self._job_name = job_name
        self._declared = topology
        self._vertex_names = dict(operators or {})
        self._slots_command, self._beside_scaler = slots_command, beside_scaler
        self._warm_s = warm_s
        self._container_cores = container_cores
        self._clock = clock or RealClock()
        self._repeated: _Repeated | None = None

    def state(self) -> ClusterState:
        """free_slots counts free slots; each could hold one instance of every operator."""
        with self._rest.operation():
            seen = self._look()
            job = seen.job
            free, held = self._rest.slots(job.jid)
            settled = job.runs and not self._under_way(seen, free + held)
            status = Status.DOWN if job.state in ENDED else Status.RUNNING if settled else Status.RESCALING
            return ClusterState(
                topology=self._declared.name,
                plan=self._plan(seen.running),
                status=status,
                observed_at=moment(job.now),
                running_since=self._rest.running_since(job) if job.runs else None,
                free_slots=free,
            )

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        """Counters over the next span_s seconds or slightly more. Waits until the plan has run for warm_s.

        Raises ClusterError when the job restarts meanwhile, or its counters do not move.
        """
        self._wait_until_warm()
        deadline_s = span_s + _COUNTERS_LATE_S
        old = self._read()  # may be cached from an earlier request, from before the plan was warm
        waited_s = 0.0
        before: Read | None = None
        while waited_s < deadline_s:
            self._clock.wait(POLL_S)
            waited_s += POLL_S
            reading = self._read()
            if before is None:
                fresh = reading is not None and (old is None or shortest_span_s(old.counters, reading.counters) != 0)
                before = reading if fresh else None
            elif reading is None:
                continue
            elif (moved_s := shortest_span_s(before.counters, reading.counters)) >= span_s:
                known = processors(self._rest.task_managers(), self._container_cores)
                job, vertices = self._found()
                samples = read_samples(self._declared, before, reading, known, self._state_gib(job, vertices))
                features = reported_features(self._rest.checkpoint_config(job.jid))
                others = (*features, Feature.OTHER_JOBS)
                of_chains = {name: features_of_chain(vertex.name) for name, vertex in vertices.items()}
                return [
                    replace(sample, features=(*(others if sample.beside else features), *of_chains[sample.operator]))
                    for sample in samples
                ]
            elif moved_s < 0:
                raise ClusterError(f"{self._where} was restarted while it was measured; measure again")
        raise ClusterError(
            f"counters of {self._where} did not move by {span_s:g} s within {deadline_s:g} s; "
            "see whether its task managers answer the job manager"
        )

    def backlogs(self) -> Mapping[str, SourceBacklog]:
        """Takes some seconds, to measure the arrival rate too. Unknown for a source whose connector publishes no
        pendingRecords, and for all sources while the job does not run.
        """
        return source_backlogs(self._declared.sources, self._queues, self._clock)

    def record(self, start: datetime, end: datetime) -> None:
        """None: Flink reports only the present."""

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return self.apply_by(plan, expected=expected, latest=None)

    def apply_by(self, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime | None) -> Accepted | Refusal:
        seen = self._look()
        at = moment(seen.job.now)
        if reason := self._misfit(plan, seen):
            return Refusal(plan, reason)
        # Requested before, perhaps by a deployment that crashed before it could record that: send no second request.
        if dict(plan.parallelism) == seen.asked:
            return Accepted(plan, expected, at)
        if reason := self._scaled_by_flink(seen):
            return Refusal(plan, reason)
        return self._ask(plan, expected, seen, lambda now: self._stale(expected, now), latest)

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        seen = self._look()
        job, wanted = seen.job, dict(accepted.plan.parallelism)
        if job.state in LEFT:  # a redeployment stops a job before it starts another of the same name
            return Pending(f"{self._where} ({job.jid}) is {job.state}, and no job of that name took its place yet")
        if job.state in ENDED:
            return Failed(f"{self._where} is {job.state}; see its exceptions in Flink, and start it again")
        if seen.asked != wanted and moment(job.submitted_ms) > accepted.at:
            return Failed(
                f"{self._where} was submitted anew at {moment(job.submitted_ms):%H:%M:%S} UTC as {job.jid}, with "
                f"{brief(seen.asked)} in place of {accepted.plan.brief()}; decide anew from what it runs, and keep "
                "redeployments apart from rescales"
            )
        if seen.asked != wanted:
            return Failed(
                f"{self._where} was asked for {brief(seen.asked)} meanwhile, by somebody else; "
                "see who rescales it, and let one do it"
            )
        if job.runs and seen.running != wanted:
            self._checkpoint_again(job, accepted)
            return Pending(f"{self._where} still runs {brief(seen.running)}")
        if not job.runs:
            tasks = [f"{n}: {_counted(v.tasks)}" for n, v in seen.vertices.items() if not v.settled]
            return Pending(f"{self._where} is {job.state}; {'; '.join(tasks)}")
        since = self._rest.running_since(job)
        state_gib = self._state_gib(job, seen.vertices)
        return Verified(
            accepted.plan,
            since,
            self._downtime_s(accepted, job, since),
            sum(state_gib.values()) if state_gib else None,
        )

    def _checkpoint_again(self, job: Job, accepted: Accepted) -> None:
        """Now and then while the job still runs as before: a checkpoint that completes before Flink has the new slots
        has no effect, and whoever asked for one may have crashed.
        """
        asked = job.jid, accepted.at
        if self._repeated is None or self._repeated.asked != asked:
            self._repeated = _Repeated(asked, AGAIN_S, job.now + 1000 * AGAIN_S)
        elif job.now >= self._repeated.due_ms:
            RescaleCheckpoint(self._rest, job.jid, self._clock).after(job)
            wait_s = 2 * self._repeated.wait_s
            self._repeated = _Repeated(asked, wait_s, job.now + 1000 * wait_s)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        seen = self._look()
        back, away = accepted.replaced, accepted.plan
        if reason := self._misfit(back, seen):
            return Refusal(back, reason)
        if dict(back.parallelism) == seen.asked:
            return Accepted(back, away, moment(seen.job.now))
        return self._ask(back, away, seen, lambda now: self._stale(away, now, undoing=True), undoing=True)

    @property
    def _where(self) -> str:
        return f"job {self._job_name!r} of {self._rest.place}"

    def _look(self) -> JobLook:
        job, vertices = self._found()
        if job.state in ENDED:  # Flink keeps the requirements of running jobs only
            return JobLook(job, vertices, {vertex.id: vertex.parallelism for vertex in job.vertices})
        if job.scheduler != "Adaptive":
            raise ClusterError(
                f"{self._where} runs under the {job.scheduler} scheduler, which cannot rescale in place; "
                "set jobmanager.scheduler: adaptive and start the job again, or give cluster.rescale: savepoint with "
                "cluster.restart"
            )
        requirements = self._rest.requirements(job.jid)
        if lacking := [vertex.name for vertex in job.vertices if vertex.id not in requirements]:
            raise ClusterError(
                f"{self._rest.place} reports no resource requirements of vertex {lacking[0]!r}; ask again"
            )
        return JobLook(job, vertices, {vertex_id: r.parallelism.upper for vertex_id, r in requirements.items()})

    def _found(self) -> tuple[Job, Mapping[str, Vertex]]:
        """The job, and the vertex of each operator."""
        job = self._rest.job(self._rest.find_job(self._job_name).jid)
        return job, operator_vertices(job, self._declared, self._vertex_names)

    @staticmethod
    def _under_way(seen: JobLook, slots: int) -> bool:
        """Whether a change is still to come. A job that was asked for more than its slots runs what fits and is not
        under way.
        """
        return seen.asked != seen.running and slots_needed(seen.job, seen.asked_by_vertex) <= slots

    def _plan(self, parallelism: Mapping[str, int]) -> PhysicalPlan:
        try:
            return PhysicalPlan(self._declared.name, parallelism)
        except ModelError as error:  # before it gets its first slots, a job has a parallelism of -1
            raise ClusterError(f"{self._where} has no plan yet: {error}; ask again once it runs") from None

    def _misfit(self, plan: PhysicalPlan, seen: JobLook) -> str | None:
        """Why the job cannot run the plan, or None."""
        if seen.job.state in ENDED:
            return f"{self._where} is {seen.job.state}; start it again, then decide from what runs"
        try:
            plan.check(bounded_topology(self._declared, seen.vertices))
        except ModelError as error:
            return str(error)
        return None

    def _stale(self, expected: PhysicalPlan, seen: JobLook, *, undoing: bool = False) -> str | None:
        """Why the job no longer runs the plan that the decision assumed, or None."""
        if undoing:
            if dict(expected.parallelism) == seen.asked:
                return None
            return (
                f"{self._where} was asked for {brief(seen.asked)} after {expected.brief()}; "
                "decide anew instead of undoing what somebody else changed"
            )
        if reason := not_as_assumed(self._where, seen.running, expected):
            return reason
        if seen.asked != seen.running and self._under_way(seen, sum(self._rest.slots(seen.job.jid))):
            return (
                f"{self._where} is on its way from {expected.brief()} to {brief(seen.asked)}; "
                "wait until it is there, and decide from what runs then"
            )
        return None

    def _scaled_by_flink(self, seen: JobLook) -> str | None:
        if self._beside_scaler or not (sign := own_scaler_sign(self._rest.configuration(seen.job.jid))):
            return None
        return (
            f"{self._where} is rescaled by Flink's own autoscaler ({sign}), and two would undo each other's work; "
            "set planning.mode: floor, or switch the autoscaler off"
        )

    def _lacking(self, plan: PhysicalPlan, seen: JobLook) -> tuple[int, str]:
        """Number of missing slots, and a message about them."""
        needed = slots_needed(seen.job, self._by_vertex(plan, seen))
        free, held = self._rest.slots(seen.job.jid)
        lacking = max(0, needed - free - held)
        widest = max(plan.parallelism, key=lambda name: plan.parallelism[name])
        return lacking, (
            f"{plan.brief()} needs {count_of(needed, 'slot')} > {free + held} ({held} held by the job, {free} free); "
            f"add {count_of(lacking, 'slot')} of task managers, or lower the parallelism of {widest}"
        )

    def _no_slots_come(self, plan: PhysicalPlan, reason: str, latest: datetime | None) -> str | None:
        """Request the missing slots from the resource manager. Returns why they did not come, or None."""
        if self._slots_command is None:
            return reason
        return await_slots(
            self._slots_command,
            self._clock,
            self._rest.all_slots(),
            lambda: self._lacking(plan, self._look()),
            poll_s=POLL_S,
            latest=latest,
        )

    def _ask(
        self,
        plan: PhysicalPlan,
        replaced: PhysicalPlan,
        seen: JobLook,
        stale: Callable[[JobLook], str | None],
        latest: datetime | None = None,
        *,
        undoing: bool = False,
    ) -> Accepted | Refusal:
        """undoing: nothing is waited for before the request."""
        if reason := stale(seen):
            return Refusal(plan, reason)
        at = moment(seen.job.now)  # waiting for slots is lead time: the old plan runs on
        lacking, reason = self._lacking(plan, seen)
        if lacking:
            if trouble := self._no_slots_come(plan, reason, latest):
                return Refusal(plan, trouble)
            seen = self._look()  # somebody may have changed it meanwhile
            if reason := self._misfit(plan, seen) or stale(seen):
                return Refusal(plan, reason)
        checkpoint, notes = RescaleCheckpoint(self._rest, seen.job.jid, self._clock), []
        if checkpoint.comes_before and not undoing:
            notes.append(checkpoint.before(latest))
            seen = self._look()
            if reason := self._misfit(plan, seen) or stale(seen):
                return Refusal(plan, reason)
        # The upper bound is the plan; enough slots were counted, so Flink reaches it at once. The lower bound is 1:
        # with lower = upper a job that later loses a task manager would stop, and one that finds too few slots would
        # keep its old plan and reserve every slot. `progress` verifies that no less than the plan runs.
        bounds = {vertex_id: (1, upper) for vertex_id, upper in self._by_vertex(plan, seen).items()}
        try:
            self._rest.ask(seen.job.jid, bounds)
        except RequestRefusedError as refused:
            return Refusal(plan, f"{self._rest.place} refuses {plan.brief()}: {refused}; correct the plan")
        notes.append(checkpoint.after(seen.job))
        return Accepted(plan, replaced, at, "; ".join(filter(None, notes)))

    @staticmethod
    def _by_vertex(plan: PhysicalPlan, seen: JobLook) -> Mapping[str, int]:
        """Parallelism of all vertices, as Flink requires; vertices that are not operators of the topology keep
        theirs.
        """
        ours = {seen.vertices[name].id: count for name, count in plan.parallelism.items()}
        return {vertex.id: ours.get(vertex.id, seen.asked_by_vertex[vertex.id]) for vertex in seen.job.vertices}

    def _downtime_s(self, accepted: Accepted, job: Job, since: datetime) -> float | None:
        return downtime_s(self._rest, accepted, job.jid, since)

    def _wait_until_warm(self) -> None:
        waited_s = 0.0
        while waited_s < self._warm_s + _START_LATE_S:
            # `state` would fail under schedulers that cannot rescale, but a job may be measured under any of them.
            job, _ = self._found()
            if job.state in ENDED:
                raise ClusterError(f"{self._where} is down; start it before it is measured")
            if job.runs and (moment(job.now) - self._rest.running_since(job)).total_seconds() >= self._warm_s:
                return
            self._clock.wait(POLL_S)
            waited_s += POLL_S
        raise ClusterError(
            f"{self._where} has not run for {self._warm_s:g} s after {waited_s:g} s of waiting; see what restarts it"
        )

    def _state_gib(self, job: Job, vertices: Mapping[str, Vertex]) -> Mapping[str, float]:
        """Per operator in the last completed checkpoint; empty if unknown."""
        written = self._rest.state_bytes(job.jid)
        return {name: written[vertex.id] / 2**30 for name, vertex in vertices.items() if vertex.id in written}

    def _queues(self) -> Mapping[str, Queue]:
        job, vertices = self._found()
        if not job.runs:
            down = SourceBacklog(
                None, None, f"{self._where} is {job.state}; its backlog is known only while all its tasks run"
            )
            return dict.fromkeys(self._declared.sources, down)
        return {
            source: queue_reading(self._rest, job.jid, source, vertices[source]) for source in self._declared.sources
        }

    def _read(self) -> Read | None:
        """Counters of all instances; None while Flink has not collected those of the present execution."""
        return read_counters(self._rest, *self._found())


def downtime_s(rest: FlinkRest, accepted: Accepted, jid: str, since: datetime) -> float | None:
    """Seconds from when a job's tasks stopped for a change until it ran; None if Flink does not report it."""
    if accepted.replaced.same_parallelism(accepted.plan):
        return 0.0
    stopped_ms = rest.stopped_ms(jid, int(accepted.at.timestamp() * 1000))
    return None if stopped_ms is None else max(0.0, (since - moment(stopped_ms)).total_seconds())


def _counted(tasks: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in tasks.items() if count) or "no tasks"
