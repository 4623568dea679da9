"""A Flink job that cannot rescale in place: stopped with a savepoint, and started from it with another parallelism.

Two ids derived from the stopped job and the plan make it safe to repeat a deployment that was killed anywhere: the id
of the savepoint, which is part of its path, and that of the new job, which Flink never starts twice.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Unpack

from engines.flink.answers import ENDED, Job, moment
from engines.flink.rest import POLL_S, RequestRefusedError
from engines.http import Connection
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.clock import Clock
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Verified
from planner.clusters.flink import FlinkCluster, JobLook
from planner.clusters.flink_vertices import operator_vertices
from planner.clusters.slots_command import SlotsCommand
from planner.errors import ClusterError

_HANDED_OVER_S = 30.0
"""Time for Flink to show the new job in place of the old one: it lists jobs from a cache."""


@dataclass(frozen=True)
class Program:
    """How a job is started. jar: id or name of an uploaded one. arguments: `{OPERATOR}` is replaced by its parallelism.

    savepoints: a directory that the whole cluster can reach. timeout_s: for completing a savepoint.
    """

    jar: str
    arguments: Sequence[str]
    savepoints: str
    entry_class: str | None = None
    timeout_s: float = 300.0

    def given(self, plan: PhysicalPlan) -> Sequence[str]:
        words = list(self.arguments)
        for name, count in plan.parallelism.items():
            words = [word.replace(f"{{{name}}}", str(count)) for word in words]
        return words


def stopping_id(jid: str, plan: PhysicalPlan) -> str:
    return _id("stop", jid, plan.parallelism)


def successor_id(jid: str, plan: PhysicalPlan) -> str:
    """Id of the job that replaces another with a plan."""
    return _id("start", jid, plan.parallelism)


def _id(what: str, jid: str, parallelism: Mapping[str, int]) -> str:
    text = " ".join([what, jid, *(f"{name}={count}" for name, count in sorted(parallelism.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class FlinkRestartCluster(FlinkCluster):
    """The `Cluster` of one Flink job under a scheduler that keeps its parallelism. Slower than rescaling in place.

    program: how the job is started; everything else as for FlinkCluster.
    """

    def __init__(
        self,
        url: str,
        job_name: str,
        topology: Topology,
        operators: Mapping[str, str] | None = None,
        *,
        program: Program,
        slots_command: SlotsCommand | None = None,
        beside_scaler: bool = False,
        warm_s: float = 20.0,
        container_cores: float | None = None,
        clock: Clock | None = None,
        **connection: Unpack[Connection],
    ) -> None:
        super().__init__(
            url,
            job_name,
            topology,
            operators,
            slots_command=slots_command,
            beside_scaler=beside_scaler,
            warm_s=warm_s,
            container_cores=container_cores,
            clock=clock,
            **connection,
        )
        self._program = program

    def apply_by(self, plan: PhysicalPlan, *, expected: PhysicalPlan, latest: datetime | None) -> Accepted | Refusal:
        return self._restarted(plan, expected, undoing=False, latest=latest)

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self._restarted(accepted.replaced, accepted.plan, undoing=True)

    def stopped_for(self, plan: PhysicalPlan) -> bool:
        """Judged by the path of the savepoint with which the job ended."""
        job = self._rest.job(self._rest.find_job(self._job_name).jid)
        return job.state in ENDED and self._savepoint_for(job.jid, plan) is not None

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        job = self._rest.job(self._rest.find_job(self._job_name).jid)
        if not job.vertices and job.state not in ENDED:
            return Pending(f"{self._where} ({job.jid}) is {job.state}")
        return super().progress(accepted)

    def _look(self) -> JobLook:
        job = self._rest.job(self._rest.find_job(self._job_name).jid)
        ended_early = job.state in ENDED and not job.vertices  # it failed before it had an execution graph
        vertices = {} if ended_early else operator_vertices(job, self._declared, self._vertex_names)
        return JobLook(job, vertices, {vertex.id: vertex.parallelism for vertex in job.vertices})

    def _restarted(
        self, plan: PhysicalPlan, replaced: PhysicalPlan, *, undoing: bool, latest: datetime | None = None
    ) -> Accepted | Refusal:
        seen = self._look()
        job, at = seen.job, moment(seen.job.now)
        jar = self._rest.jar_id(self._program.jar)
        if jar is None:
            return Refusal(plan, f"{self._rest.place} has no jar {self._program.jar!r}; upload it, or correct its name")
        if job.state in ENDED:
            if self._predecessor(job.jid, plan):  # `progress` says how it ended
                return Accepted(plan, replaced, at)
            found = self._savepoint_of_ours(job, plan, replaced, undoing=undoing)
            if isinstance(found, Refusal):
                return found
            savepoint = found
        else:
            if reason := self._misfit(plan, seen):
                return Refusal(plan, reason)
            if dict(plan.parallelism) == seen.running:
                return Accepted(plan, replaced, at)
            if reason := self._scaled_by_flink(seen) or self._stale(replaced, seen):
                return Refusal(plan, reason)
            lacking, reason = self._lacking(plan, seen)
            if lacking:
                if trouble := self._no_slots_come(plan, reason, latest):
                    return Refusal(plan, trouble)
                if changed := self._stale(replaced, self._look()):
                    return Refusal(plan, changed)
            stopped = self._stopped(job, plan)
            if isinstance(stopped, Refusal):
                return stopped
            savepoint = stopped
        return self._started(jar, job, plan, replaced, savepoint, at)

    def _stopped(self, job: Job, plan: PhysicalPlan) -> str | Refusal:
        """Stop the job for a plan; returns the path of its savepoint."""
        trigger = stopping_id(job.jid, plan)
        directory = f"{self._program.savepoints.rstrip('/')}/forescale-{trigger}"
        refusal = ""
        try:
            self._rest.stop(job.jid, directory, trigger)
        except RequestRefusedError as refused:  # it may be stopped already, and Flink answered from its cache
            refusal = str(refused)
        waited_s = 0.0
        while waited_s < self._program.timeout_s:
            request = self._rest.savepoint_request(job.jid, trigger)
            # A complete savepoint is not enough: if tasks fail after it, the job goes on.
            if request is not None and request.operation is not None and request.operation.location:
                return request.operation.location
            stopped = request is None and self._rest.job(job.jid).state in ENDED
            if stopped and (path := self._savepoint_for(job.jid, plan)):
                return path
            if request is None or request.failed_because:
                why = refusal or (request.failed_because if request else "") or "Flink forgot the request"
                return Refusal(plan, f"{self._where} was not stopped with a savepoint: {why}; see its checkpoints")
            self._clock.wait(POLL_S / 4)
            waited_s += POLL_S / 4
        # The savepoint may still come; another attempt finds it then.
        raise ClusterError(
            f"{self._where} has no savepoint below {directory} after {waited_s:g} s; "
            "see what holds its checkpoints up, then deploy the step again"
        )

    def _savepoint_for(self, jid: str, plan: PhysicalPlan) -> str | None:
        """The savepoint of a job that was stopped for a plan."""
        last = self._rest.last_savepoint(jid)
        return last.path if last is not None and f"/forescale-{stopping_id(jid, plan)}/" in last.path else None

    def _savepoint_of_ours(
        self, job: Job, plan: PhysicalPlan, replaced: PhysicalPlan, *, undoing: bool
    ) -> str | Refusal:
        """The savepoint to restart an ended job from: it was stopped for the plan, or it failed with the plan to undo
        before its first own checkpoint, where Flink would restart it from that savepoint too. Any other ended job was
        stopped by somebody else, or has processed more than the savepoint covers.
        """
        if path := self._savepoint_for(job.jid, plan):
            return path
        before = self._predecessor(job.jid, replaced) if undoing else None
        path = None if before is None else self._savepoint_for(before, replaced)
        if path is None or job.state != "FAILED":
            why = "not stopped for this plan"
        elif self._rest.has_checkpoint(job.jid):
            why = f"and it has completed a checkpoint: from {path} it would process again what it has done since"
        else:
            return path
        return Refusal(
            plan,
            f"{self._where} is {job.state}, {why}; where it is to run, start it from its own last savepoint or "
            "checkpoint, then decide from what runs",
        )

    def _predecessor(self, jid: str, plan: PhysicalPlan) -> str | None:
        """The job that this one replaced, if that was for the plan."""
        named = [job.jid for job in self._rest.jobs() if job.name == self._job_name]
        return next((old for old in named if successor_id(old, plan) == jid), None)

    def _started(
        self, jar: str, old: Job, plan: PhysicalPlan, replaced: PhysicalPlan, savepoint: str, at: datetime
    ) -> Accepted | Refusal:
        if other := self._started_by_others(old, plan, replaced):
            return Refusal(
                plan,
                f"{self._where} was started as {other} by somebody else after it was stopped for {plan.brief()}; its "
                f"savepoint is {savepoint}: see who starts it, and decide from what runs",
            )
        refused = self._run(jar, old, plan, savepoint)
        if refused is None:
            return Accepted(plan, replaced, at)
        again = self._run(jar, old, replaced, savepoint)
        if again is not None:
            raise ClusterError(
                f"{self._where} is stopped, and {self._rest.place} starts it neither with {plan.brief()} ({refused}) "
                f"nor with {replaced.brief()} ({again}); start it by hand from {savepoint}"
            )
        return Refusal(plan, f"{self._rest.place} does not start it: {refused}; it was restarted with what ran before")

    def _started_by_others(self, old: Job, *plans: PhysicalPlan) -> str | None:
        """A running job of that name that no deployment of these plans has started; two would read the same input."""
        ours = {old.jid, *(successor_id(old.jid, plan) for plan in plans)}
        named = [job for job in self._rest.jobs() if job.name == self._job_name and job.state not in ENDED]
        return next((job.jid for job in named if job.jid not in ours), None)

    def _run(self, jar: str, old: Job, plan: PhysicalPlan, savepoint: str) -> str | None:
        """Start the job from the savepoint unless that was done before. Returns why Flink refuses, or None."""
        jid = successor_id(old.jid, plan)
        refusal: str | None = None
        try:
            self._rest.run(jar, self._program.entry_class, self._program.given(plan), savepoint, jid)
        except RequestRefusedError as refused:
            refusal = str(refused)
        waited_s = 0.0
        while waited_s < _HANDED_OVER_S:
            states = {job.jid: job.state for job in self._rest.jobs()}
            if jid in states and states.get(old.jid, "FINISHED") in ENDED:
                return None
            if refusal is not None and jid not in states and waited_s >= POLL_S:
                return refusal
            self._clock.wait(POLL_S / 4)
            waited_s += POLL_S / 4
        raise ClusterError(
            f"{self._rest.place} does not show job {jid} in place of {old.jid} after {waited_s:g} s; see its log, then "
            "deploy the step again"
        )

    def _downtime_s(self, accepted: Accepted, job: Job, since: datetime) -> float | None:
        if accepted.replaced.same_parallelism(accepted.plan):
            return 0.0
        before = self._predecessor(job.jid, accepted.plan)
        last = None if before is None else self._rest.last_savepoint(before)
        # The sources stop when the savepoint begins.
        return None if last is None else max(0.0, (since - moment(last.asked_ms)).total_seconds())
