"""Validated answers of Flink's REST interface, with only the fields that the adapter needs."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

ENDED = frozenset({"FAILED", "CANCELED", "FINISHED", "SUSPENDED"})
"""States of a job that will not run again by itself."""
LEFT = frozenset({"FINISHED", "SUSPENDED"})
"""The ended states of a job that was stopped to be restarted, or handed over by a leader."""


Milliseconds = Annotated[int, Field(ge=-1, le=253_402_300_799_000)]
"""Since the epoch, until the year 9999; -1 stands for never."""


def moment(milliseconds: int) -> datetime:
    """Milliseconds since the epoch, on the job manager's clock."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class JobSummary(_Answer):
    jid: str
    name: str
    state: str
    start_ms: Annotated[Milliseconds, Field(alias="start-time")]


class JobsOverview(_Answer):
    """GET /jobs/overview: jobs that run, and those that ended not long ago."""

    jobs: list[JobSummary]


class Counters(_Answer):
    """Counters of a subtask, or of a whole vertex, since its start. Times in milliseconds; busy is NaN for legacy
    sources.
    """

    records_read: Annotated[float, Field(alias="read-records")]
    records_written: Annotated[float, Field(alias="write-records")]
    read_complete: Annotated[bool, Field(alias="read-records-complete")] = True
    written_complete: Annotated[bool, Field(alias="write-records-complete")] = True
    busy_ms: Annotated[float, Field(alias="accumulated-busy-time")]
    idle_ms: Annotated[float, Field(alias="accumulated-idle-time")]
    backpressured_ms: Annotated[float, Field(alias="accumulated-backpressured-time")]

    @property
    def elapsed_ms(self) -> float:
        """Age of these counters: Flink counts as busy all time that is neither idle nor backpressured."""
        return self.busy_ms + self.idle_ms + self.backpressured_ms

    @property
    def complete(self) -> bool:
        return self.read_complete and self.written_complete


class Vertex(_Answer):
    """An operator or operator chain. tasks: subtasks by state. counters: sums over all subtasks."""

    id: str
    name: str
    parallelism: int
    max_parallelism: Annotated[int, Field(alias="maxParallelism")]
    tasks: dict[str, int]
    slot_group: Annotated[str, Field(alias="slotSharingGroupId")] = ""
    counters: Annotated[Counters | None, Field(alias="metrics")] = None

    @property
    def running(self) -> int:
        """Number of its subtasks that run. Bounded input ends subtask by subtask, and what ended stays FINISHED."""
        return self.tasks.get("RUNNING", 0)

    @property
    def settled(self) -> bool:
        """Whether no subtask is yet to start, to restore its state or to be stopped."""
        return self.running + self.tasks.get("FINISHED", 0) == self.parallelism


class Job(_Answer):
    """GET /jobs/:id. submitted_ms: set once; it survives rescales and restarts by Flink."""

    jid: str
    name: str
    state: str
    now: Milliseconds
    submitted_ms: Annotated[Milliseconds, Field(alias="start-time")] = -1
    scheduler: Annotated[str, Field(alias="schedulerType")] = "Adaptive"
    timestamps: dict[str, Milliseconds]
    vertices: list[Vertex]

    @property
    def runs(self) -> bool:
        """Whether every subtask runs or has finished its input, and at least one runs."""
        some_run = any(vertex.running for vertex in self.vertices)
        return self.state == "RUNNING" and some_run and all(vertex.settled for vertex in self.vertices)


class Subtask(_Answer):
    """status: as for tasks of a vertex; the counters of a FINISHED one stand still."""

    index: Annotated[int, Field(alias="subtask")]
    status: str
    start_ms: Annotated[Milliseconds, Field(alias="start-time")]
    durations_ms: Annotated[dict[str, Milliseconds], Field(alias="status-duration")] = {}
    task_manager: Annotated[str, Field(alias="taskmanager-id")] = ""
    metrics: Counters

    @property
    def running_since_ms(self) -> int:
        """start-time is the deployment; the subtask runs only once its state is restored."""
        return self.start_ms + sum(max(0, self.durations_ms.get(state, 0)) for state in ("DEPLOYING", "INITIALIZING"))


class PlanInput(_Answer):
    """An input of a vertex. id: of the upstream vertex."""

    id: str
    ship_strategy: str = ""


class PlanNode(_Answer):
    id: str
    inputs: list[PlanInput] = []


class DataFlow(_Answer):
    nodes: list[PlanNode]


class JobPlan(_Answer):
    """GET /jobs/:id/plan: the edges between vertices and their ship strategies."""

    plan: DataFlow


class VertexDetails(_Answer):
    """GET /jobs/:id/vertices/:id."""

    id: str
    now: Milliseconds
    subtasks: list[Subtask]


class Metric(_Answer):
    """GET /jobs/:id/vertices/:id/subtasks/metrics."""

    id: str


class MetricValue(Metric):
    """A metric of a task manager."""

    value: float


class MetricSum(Metric):
    """A metric with agg=sum,avg, over the subtasks that reported it."""

    sum: float
    mean: Annotated[float, Field(alias="avg")]


class Bounds(_Answer):
    lower: Annotated[int, Field(alias="lowerBound")]
    upper: Annotated[int, Field(alias="upperBound")]


class Requirement(_Answer):
    """One vertex in GET and PUT /jobs/:id/resource-requirements."""

    parallelism: Bounds


class Slot(_Answer):
    job: Annotated[str, Field(alias="jobId")]


class Hardware(_Answer):
    """cores: those that the JVM sees, which rounds a quota of less than a core up."""

    cores: Annotated[int, Field(alias="cpuCores", ge=1)]


class TaskManager(_Answer):
    """GET /taskmanagers and, with its slots, /taskmanagers/:id. path: its address, as Flink's actors name it."""

    id: str
    path: str = ""
    hardware: Hardware | None = None
    slots: Annotated[int, Field(alias="slotsNumber")]
    free_slots: Annotated[int, Field(alias="freeSlots")]
    taken_slots: Annotated[list[Slot], Field(alias="allocatedSlots")] = []


class TaskManagers(_Answer):
    taskmanagers: list[TaskManager]


class Option(_Answer):
    """An entry of GET /jobs/:id/jobmanager/config."""

    key: str
    value: str


class CompletedCheckpoint(_Answer):
    id: int


class CompletedSavepoint(_Answer):
    path: Annotated[str, Field(alias="external_path")]
    asked_ms: Annotated[Milliseconds, Field(alias="trigger_timestamp")]


class LatestCheckpoints(_Answer):
    completed: CompletedCheckpoint | None = None
    savepoint: CompletedSavepoint | None = None


class Checkpoints(_Answer):
    """GET /jobs/:id/checkpoints."""

    latest: LatestCheckpoints | None = None


class CheckpointConfig(_Answer):
    """GET /jobs/:id/checkpoints/config. state_backend: simple name of its class; versions before 1.14 have none."""

    unaligned: Annotated[bool, Field(alias="unaligned_checkpoints")] = False
    state_backend: str | None = None


class TaskCheckpoint(_Answer):
    """state_bytes: full state of all subtasks of a vertex as written, even if the checkpoint is incremental."""

    state_bytes: Annotated[float, Field(alias="state_size", ge=0)] = 0.0


class CheckpointDetails(_Answer):
    """GET /jobs/:id/checkpoints/details/:checkpoint; by vertex id."""

    tasks: dict[str, TaskCheckpoint] = {}


class SchedulerState(_Answer):
    state: str
    left_ms: Annotated[Milliseconds | None, Field(alias="leaveTimestampInMillis")] = None


class Rescale(_Answer):
    """GET /jobs/:id/rescales/history and, with its states, /rescales/details/:uuid."""

    uuid: Annotated[str, Field(alias="rescaleUuid")]
    start_ms: Annotated[Milliseconds, Field(alias="startTimestampInMillis")]
    terminal_state: Annotated[str | None, Field(alias="terminalState")] = None
    states: Annotated[list[SchedulerState], Field(alias="schedulerStates")] = []


class _Progress(_Answer):
    id: str


class _Operation(_Answer):
    location: str | None = None
    failure: Annotated[
        dict[str, object] | None, Field(validation_alias=AliasChoices("failure-cause", "failureCause"))
    ] = None


class Triggered(_Answer):
    """POST /jobs/:id/checkpoints."""

    request: Annotated[str, Field(alias="request-id")]


class SnapshotRequest(_Answer):
    """GET /jobs/:id/savepoints/:trigger, and /jobs/:id/checkpoints/:trigger."""

    status: _Progress
    operation: _Operation | None = None

    @property
    def failed_because(self) -> str | None:
        cause = None if self.operation is None else self.operation.failure
        return None if cause is None else str(cause.get("stack-trace") or cause).split("\n", 1)[0][:300]


class RescaleConfig(_Answer):
    """GET /jobs/:id/rescales/config."""

    cooldown_ms: Annotated[float, Field(alias="executingCooldownTimeoutInMillis")] = 0.0


class ClusterConfig(_Answer):
    """GET /config."""

    version: Annotated[str, Field(alias="flink-version")] = ""


class Jar(_Answer):
    id: str
    name: str


class Jars(_Answer):
    """GET /jars."""

    files: list[Jar]
