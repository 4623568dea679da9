"""Flink's REST interface: one call a method."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar, Unpack
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError

from engines.flink.answers import (
    ENDED,
    CheckpointConfig,
    CheckpointDetails,
    Checkpoints,
    ClusterConfig,
    CompletedSavepoint,
    Jars,
    Job,
    JobPlan,
    JobsOverview,
    JobSummary,
    Metric,
    MetricSum,
    MetricValue,
    Option,
    PlanNode,
    Requirement,
    Rescale,
    RescaleConfig,
    SnapshotRequest,
    Subtask,
    TaskManager,
    TaskManagers,
    Triggered,
    VertexDetails,
    moment,
)
from engines.http import Connection, Failure, JsonServer

Shape = TypeVar("Shape")

POLL_S = 2.0
"""Flink collects metrics only while somebody polls them, every 10 s by default, so poll more often than that."""

MAX_BESIDE = 20
"""Jobs beside one whose tasks are looked at: each takes a request a vertex."""

_CPU_TIME = "Status.JVM.CPU.Time"
"""In nanoseconds; -1 on a JVM that does not know it."""

_GC_TIME = "Status.JVM.GarbageCollector.All.Time"
"""In milliseconds, of all collectors; older versions do not have it."""

_GC_COUNT = "Status.JVM.GarbageCollector.All.Count"


@dataclass(frozen=True)
class ProcessTimes:
    """Seconds of a JVM since its start: CPU, and garbage collection in gc_pauses pauses. None if not reported."""

    cpu_s: float | None
    gc_s: float | None
    gc_pauses: float | None = None


class RequestRefusedError(Exception):
    """Flink understood the request and refused it; the message is the first line of its reason."""


class FlinkRest(JsonServer):
    """The REST interface at a URL."""

    def __init__(self, url: str, failure: Failure, **connection: Unpack[Connection]) -> None:
        super().__init__("Flink", url, failure, example="http://host:8081", **connection)

    def jobs(self) -> Sequence[JobSummary]:
        """Running and recently ended jobs."""
        return self._valid("/jobs/overview", JobsOverview).jobs

    def find_job(self, name: str) -> JobSummary:
        """The one job of that name that has not ended; if all have ended, the latest."""
        jobs = self.jobs()
        named = [job for job in jobs if job.name == name]
        if not named:
            known = ", ".join(sorted({job.name for job in jobs})) or "none"
            raise self.failure(f"{self.place} has no job {name!r}; known are: {known}. Start it, or correct its name")
        alive = [job for job in named if job.state not in ENDED]
        if len(alive) > 1:
            ids = ", ".join(job.jid for job in alive)
            raise self.failure(f"{self.place} runs {len(alive)} jobs named {name!r} ({ids}); give each its own name")
        return alive[0] if alive else max(named, key=lambda job: job.start_ms)

    def job(self, jid: str) -> Job:
        return self._valid(f"/jobs/{jid}", Job)

    def plan(self, jid: str) -> Sequence[PlanNode]:
        """The vertices with their inputs."""
        return self._valid(f"/jobs/{jid}/plan", JobPlan).plan.nodes

    def vertex(self, jid: str, vertex_id: str) -> VertexDetails:
        return self._valid(f"/jobs/{jid}/vertices/{vertex_id}", VertexDetails)

    def running_since(self, job: Job) -> datetime:
        """When the last subtask began to run. Until then state is being restored and the job does no work."""
        subtasks = [subtask for vertex in job.vertices for subtask in self.vertex(job.jid, vertex.id).subtasks]
        return moment(max([job.timestamps.get("RUNNING", 0), *(subtask.running_since_ms for subtask in subtasks)]))

    def requirements(self, jid: str) -> Mapping[str, Requirement]:
        """Requested parallelism per vertex id; the scheduler may not have reached it yet."""
        return self._valid(f"/jobs/{jid}/resource-requirements", dict[str, Requirement])

    def ask(self, jid: str, bounds: Mapping[str, tuple[int, int]]) -> None:
        """Request minimum and maximum parallelism per vertex id, for all vertices. Raises RequestRefusedError."""
        body = {
            vertex: {"parallelism": {"lowerBound": lower, "upperBound": upper}}
            for vertex, (lower, upper) in bounds.items()
        }
        self._answer("PUT", f"/jobs/{jid}/resource-requirements", body)

    def check_may_ask(self, jid: str) -> str:
        """Send an empty request, which Flink rejects after authorising the caller; nothing changes.

        Returns a sentence on the answer. Raises a failure if the caller is not allowed, or for any other answer.
        """
        try:
            self.ask(jid, {})
        except RequestRefusedError as refused:
            return f"it takes requests of resources (and turned an empty one down: {str(refused)[:80]})"
        raise self.failure(f"{self.place} accepted a request for no vertex; forescale knows Flink 1.18 to 2.3")

    def slots(self, jid: str) -> tuple[int, int]:
        """Free slots, and slots that the job holds."""
        free = held = 0
        for summary in self.task_managers():
            manager = self._valid(f"/taskmanagers/{summary.id}", TaskManager)
            free += manager.free_slots
            held += sum(slot.job == jid for slot in manager.taken_slots)
        return free, held

    def jobs_beside(self, jid: str, task_managers: Iterable[str]) -> list[Job]:
        """Other jobs with slots of these task managers, at most MAX_BESIDE; without those that end meanwhile."""
        seen, found = {jid}, list[Job]()
        for manager in task_managers:
            slots = []
            with suppress(RequestRefusedError):
                slots = self._read(f"/taskmanagers/{manager}", TaskManager).taken_slots
            for other in sorted({slot.job for slot in slots} - seen)[: MAX_BESIDE - len(found)]:
                seen.add(other)
                with suppress(RequestRefusedError):
                    found.append(self._read(f"/jobs/{other}", Job))
        return found

    def subtasks(self, jid: str, vertex_id: str) -> Sequence[Subtask]:
        """Of a vertex; none of a job that is gone."""
        try:
            return self._read(f"/jobs/{jid}/vertices/{vertex_id}", VertexDetails).subtasks
        except RequestRefusedError:
            return []

    def task_managers(self) -> Sequence[TaskManager]:
        return self._valid("/taskmanagers", TaskManagers).taskmanagers

    def all_slots(self) -> int:
        """All slots of the cluster, free or taken."""
        return sum(manager.slots for manager in self.task_managers())

    def process_times(self, task_manager: str) -> ProcessTimes:
        """Of a task manager's JVM since its start, collected along with the counters of its subtasks. Unknown if it
        does not report them, or is gone.
        """
        values = self._task_manager_metrics(task_manager, f"{_CPU_TIME},{_GC_TIME},{_GC_COUNT}")
        if _CPU_TIME not in values:
            # One missing name may empty the whole answer.
            values = self._task_manager_metrics(task_manager, _CPU_TIME)
        cpu_ns, gc_ms = values.get(_CPU_TIME, -1.0), values.get(_GC_TIME)
        gc_s = None if gc_ms is None else gc_ms / 1e3
        return ProcessTimes(cpu_ns / 1e9 if cpu_ns >= 0 else None, gc_s, values.get(_GC_COUNT))

    def _task_manager_metrics(self, task_manager: str, names: str) -> dict[str, float]:
        try:
            metrics = self._read(f"/taskmanagers/{task_manager}/metrics?get={names}", list[MetricValue])
        except RequestRefusedError:
            return {}
        return {metric.id: metric.value for metric in metrics}

    def configuration(self, jid: str) -> Mapping[str, str]:
        """Configuration of the job, including cluster options. Empty before Flink 1.16, which does not report it."""
        try:
            options = self._read(f"/jobs/{jid}/jobmanager/config", list[Option])
        except RequestRefusedError:
            return {}
        return {option.key: option.value for option in options}

    def state_bytes(self, jid: str) -> Mapping[str, float]:
        """State per vertex id in the last completed checkpoint; empty without a checkpoint."""
        try:
            latest = self._read(f"/jobs/{jid}/checkpoints", Checkpoints).latest
            if latest is None or latest.completed is None:
                return {}
            details = self._read(f"/jobs/{jid}/checkpoints/details/{latest.completed.id}", CheckpointDetails)
        except RequestRefusedError:
            return {}
        return {vertex_id: task.state_bytes for vertex_id, task in details.tasks.items()}

    def checkpoint_config(self, jid: str) -> CheckpointConfig | None:
        """None for a job without checkpoints."""
        try:
            return self._read(f"/jobs/{jid}/checkpoints/config", CheckpointConfig)
        except RequestRefusedError:
            return None

    def trigger_checkpoint(self, jid: str) -> str:
        """Id of the request. Raises RequestRefusedError."""
        trigger = self._shaped("POST", f"/jobs/{jid}/checkpoints", Triggered, {"checkpointType": "CONFIGURED"})
        return trigger.request

    def checkpoint_request(self, jid: str, trigger: str) -> SnapshotRequest:
        """State of the request. Raises RequestRefusedError."""
        return self._read(f"/jobs/{jid}/checkpoints/{trigger}", SnapshotRequest)

    def cooldown_s(self, jid: str) -> float:
        """Least time from the start of a job until it is rescaled; 0 if Flink does not report it."""
        try:
            return self._read(f"/jobs/{jid}/rescales/config", RescaleConfig).cooldown_ms / 1000
        except RequestRefusedError:
            return 0.0

    def major_version(self) -> int | None:
        """None if it is not told."""
        try:
            version = self._read("/config", ClusterConfig).version
        except RequestRefusedError:
            return None
        major, dot, _ = version.partition(".")
        return int(major) if dot and major.isdecimal() else None

    def stopped_ms(self, jid: str, after_ms: int) -> int | None:
        """When the first rescale that began after that moment stopped the tasks.

        None if Flink does not report it: rescale history exists since 2.x and must be configured.
        """
        try:
            history = self._read(f"/jobs/{jid}/rescales/history", list[Rescale])
            began = [r for r in history if r.start_ms >= after_ms and r.terminal_state == "COMPLETED"]
            if not began:
                return None
            first = min(began, key=lambda rescale: rescale.start_ms)
            details = self._read(f"/jobs/{jid}/rescales/details/{first.uuid}", Rescale)
        except RequestRefusedError:
            return None
        executing = [state.left_ms for state in details.states if state.state == "Executing"]
        return executing[0] if executing else None

    def stop(self, jid: str, directory: str, trigger: str) -> None:
        """Stop a job with a savepoint below a directory. Idempotent per trigger, a hexadecimal id of 32 digits. Raises
        RequestRefusedError.
        """
        body = {"drain": False, "targetDirectory": directory, "triggerId": trigger}
        self._answer("POST", f"/jobs/{jid}/stop", body)

    def savepoint_request(self, jid: str, trigger: str) -> SnapshotRequest | None:
        """State of the request; None if Flink does not know it (it forgets requests after minutes)."""
        try:
            return self._read(f"/jobs/{jid}/savepoints/{trigger}", SnapshotRequest)
        except RequestRefusedError:
            return None

    def last_savepoint(self, jid: str) -> CompletedSavepoint | None:
        """The last savepoint of a running or ended job, for as long as Flink remembers the job."""
        try:
            latest = self._read(f"/jobs/{jid}/checkpoints", Checkpoints).latest
        except RequestRefusedError:
            return None
        return None if latest is None else latest.savepoint

    def has_checkpoint(self, jid: str) -> bool:
        """Whether the job completed a checkpoint or savepoint of its own; the one it started from does not count."""
        try:
            latest = self._read(f"/jobs/{jid}/checkpoints", Checkpoints).latest
        except RequestRefusedError:  # checkpoints are off, or the job failed before its graph was built
            return False
        return latest is not None and (latest.completed is not None or latest.savepoint is not None)

    def jar_id(self, jar: str) -> str | None:
        """Id of the uploaded jar with that id or name (the newest of that name); None if there is none."""
        files = self._valid("/jars", Jars).files
        return next((file.id for file in files if jar in (file.id, file.name)), None)

    def run(self, jar_id: str, entry_class: str | None, arguments: Sequence[str], savepoint: str, jid: str) -> None:
        """Start a program from a savepoint, as a job with that id. Raises RequestRefusedError, also if the id is in
        use.
        """
        body = {"programArgsList": list(arguments), "savepointPath": savepoint, "jobId": jid}
        entry = {} if entry_class is None else {"entryClass": entry_class}
        self._answer("POST", f"/jars/{jar_id}/run", body | entry)

    def metric_names(self, jid: str, vertex_id: str) -> Sequence[str]:
        """Names of the metrics of a vertex's subtasks; empty until Flink has collected them once."""
        return [metric.id for metric in self._valid(f"/jobs/{jid}/vertices/{vertex_id}/subtasks/metrics", list[Metric])]

    def metric_sums(self, jid: str, vertex_id: str, subtasks: int, names: Sequence[str]) -> Mapping[str, MetricSum]:
        """Each metric summed over the first `subtasks` subtasks that have it; empty if any name is unknown."""
        # Higher subtask indices belong to an earlier execution, which Flink keeps for a while.
        query = urlencode({"get": ",".join(names), "agg": "sum,avg", "subtasks": f"0-{subtasks - 1}"})
        metrics = self._valid(f"/jobs/{jid}/vertices/{vertex_id}/subtasks/metrics?{query}", list[MetricSum])
        return {metric.id: metric for metric in metrics}

    def _valid(self, path: str, shape: type[Shape]) -> Shape:
        try:
            return self._read(path, shape)
        except RequestRefusedError as refused:
            raise self.failure(f"{self.place} refuses GET {path}: {refused}; look whether the job still runs") from None

    def _read(self, path: str, shape: type[Shape]) -> Shape:
        return self._shaped("GET", path, shape)

    def _shaped(self, method: str, path: str, shape: type[Shape], body: object = None) -> Shape:
        answer = self._answer(method, path, body)
        try:
            return TypeAdapter(shape).validate_python(answer)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the answer"
            raise self.failure(
                f"{self.place} answers {path} with {field} = {self.excerpt(first['input'], 80)!r} ({first['msg']}); "
                "forescale reads the REST interface of Flink 1.18 to 2.3"
            ) from None

    def _answer(self, method: str, path: str, body: object = None) -> object:
        # Never retry a change: somebody else may have made another one in between.
        status, answer = self.call(method, path, body=body, idempotent=method == "GET")
        if 200 <= status < 300:
            return answer
        reason = self.excerpt(_reason(answer), 500)
        if status in (400, 404, 409):
            raise RequestRefusedError(reason)
        raise self.failure(f"{self.place} fails {method} {path} with HTTP {status}: {reason}; see its log")


def _reason(answer: object) -> str:
    """Flink's reason without the stack traces that follow it."""
    errors = answer.get("errors") if isinstance(answer, dict) else None
    texts = [str(error) for error in errors] if isinstance(errors, list) and errors else [str(answer)]
    reason = " ".join(text.split("\n\tat ")[0] for text in texts[:2]).replace("\n", " ").strip()
    return reason.removeprefix("org.apache.flink.runtime.rest.handler.RestHandlerException: ")
