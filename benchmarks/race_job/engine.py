"""The raced engine: a real Kafka, a real Flink whose task managers are slow cores, and the job between them."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from cpu_group import CpuGroup, cpu_group
from kafka_broker import kafka_broker
from race_jars import connector_jars

from engines.flink.answers import Job, Vertex
from engines.flink.rest import FlinkRest, RequestRefusedError
from engines.kafka.client import KafkaClient
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import FlinkDistribution, flink_distribution
from forescale.local.flink.example_job import SOURCES, example_job
from forescale.local.flink.java import find_java
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from forescale.local.flink.submission import cancel_job, submit_job
from planner.errors import ClusterError

JAVA = Path(__file__).with_name("java")
MAIN_CLASS = "race.Race"
READ, WORK = "read", "work"
PERIOD_US = 10_000
"""Of a quota: shorter than the work of an event, so that an instance is a slow core and looks busy as one does."""
CHECKPOINT_S = 2.0
OPTIONS = {
    "classloader.resolve-order": "parent-first",
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "100 ms",
}
GAUGES = ("events", "numbers", "squares")


class JobEndedError(ClusterError):
    """The raced job runs no more, so the race is over."""


@dataclass(frozen=True)
class Counters:
    """Of all instances of an operator since they started; times in seconds, summed over them."""

    read: float
    written: float
    busy_s: float
    idle_s: float
    backpressured_s: float

    @property
    def age_s(self) -> float:
        return self.busy_s + self.idle_s + self.backpressured_s


@dataclass(frozen=True)
class Look:
    """at_s: epoch seconds. running, requested: instances of the work. cpu_s: processor time of the task managers
    that host the work, since the race began. arrived: events in Kafka; pending: those not yet read, None while unknown.
    counters: by operator, empty while the job is down.
    """

    at_s: float
    runs: bool
    running: int
    requested: int
    running_since_s: float
    arrived: int
    pending: float | None
    cpu_s: float
    counters: Mapping[str, Counters]


class RacedJob:
    """The submitted job. Its work is the only operator that is rescaled."""

    def __init__(self, url: str, jid: str, folder: Path, pids: Mapping[int, int], servers: str, topic: str) -> None:
        """pids: process of each task manager by the port in its id."""
        self.jid, self.folder = jid, folder
        self._url, self._pids = url, pids
        self._rest = FlinkRest(url, ClusterError)
        self._servers, self._partition = servers, (topic, 0)
        self._client: KafkaClient | None = None
        self._hosts: tuple[float, Sequence[psutil.Process]] = (0.0, ())
        self._base = 0
        self._used_s = 0.0
        self._last_cpu: dict[int, float] = {}

    def begin(self) -> None:
        """Count events from now on."""
        self._base = self._end()

    def _end(self) -> int:
        try:
            return int(self._kafka().end_offsets([self._partition])[0])
        except ClusterError:  # a client that knows of an older leader: another one asks anew
            self._client = None
            return int(self._kafka().end_offsets([self._partition])[0])

    def _kafka(self) -> KafkaClient:
        if self._client is None:
            self._client = KafkaClient(self._servers, {}, 30.0, "the race's Kafka", ClusterError)
        return self._client

    def look(self) -> Look:
        job = self._rest.job(self.jid)
        if job.state in ("FAILED", "CANCELED", "FINISHED"):
            raise JobEndedError(f"the raced job is {job.state}; see its exceptions")
        arrived, now_s = self._end() - self._base, time.time()
        vertices = self._vertices(job)
        requested = self._rest.requirements(self.jid)[vertices[WORK].id].parallelism.upper
        running = max(0, vertices[WORK].parallelism)
        since_s = self._rest.running_since(job).timestamp() if job.runs else 0.0
        if not job.runs:
            return Look(now_s, False, running, requested, 0.0, arrived, None, self._cpu_s(), {})
        if self._hosts[0] != since_s:
            self._hosts = (since_s, self._host_processes(vertices[WORK].id))
        counters = {
            name: Counters(
                c.records_read, c.records_written, c.busy_ms / 1e3, c.idle_ms / 1e3, c.backpressured_ms / 1e3
            )
            for name, vertex in vertices.items()
            if (c := vertex.counters) is not None
        }
        return Look(
            now_s, True, running, requested, since_s, arrived, self._pending(vertices[READ].id), self._cpu_s(), counters
        )

    def _vertices(self, job: Job) -> dict[str, Vertex]:
        return {name: next(v for v in job.vertices if name in v.name.lower()) for name in (READ, WORK)}

    def _pending(self, vertex: str) -> float | None:
        names = [name for name in self._rest.metric_names(self.jid, vertex) if name.endswith(".pendingRecords")]
        if not names:
            return None
        found = self._rest.metric_sums(self.jid, vertex, 1, names[:1])
        return max(0.0, found[names[0]].sum) if names[0] in found else None

    def _host_processes(self, vertex: str) -> Sequence[psutil.Process]:
        managers = {each.task_manager for each in self._rest.vertex(self.jid, vertex).subtasks}
        return [psutil.Process(pid) for port, pid in self._pids.items() if any(f":{port}-" in of for of in managers)]

    def _cpu_s(self) -> float:
        """Of the present hosts, whenever each was one."""
        now = {process.pid: sum(process.cpu_times()[:2]) for process in self._hosts[1]}
        self._used_s += sum(used - self._last_cpu.get(pid, used) for pid, used in now.items())
        self._last_cpu = now
        return self._used_s

    def ask(self, instances: int) -> None:
        vertices = self._vertices(self._rest.job(self.jid))
        try:
            self._rest.ask(self.jid, {vertices[READ].id: (1, 1), vertices[WORK].id: (1, instances)})
        except RequestRefusedError as refused:
            raise ClusterError(f"Flink refuses {instances} instances: {refused}") from None

    def bring(self, instances: int, within_s: float = 120.0) -> None:
        """Ask, and wait until they run."""
        deadline = time.monotonic() + within_s
        self.ask(instances)
        while time.monotonic() < deadline:
            seen = self.look()
            if seen.runs and seen.running == instances:
                return
            time.sleep(0.5)
        raise ClusterError(f"{instances} instances do not run after {within_s:g} s; see Flink's log")

    def sums(self) -> tuple[int, ...]:
        """Events, their numbers and squares, as the job's state counts them; empty until Flink has collected them."""
        vertex = self._vertices(self._rest.job(self.jid))[WORK]
        names = {name.rsplit(".", 1)[-1]: name for name in self._rest.metric_names(self.jid, vertex.id)}
        if not set(GAUGES) <= names.keys():
            return ()
        found = self._rest.metric_sums(self.jid, vertex.id, vertex.parallelism, [names[each] for each in GAUGES])
        return tuple(round(found[names[each]].sum) for each in GAUGES if names[each] in found)

    def cancel(self) -> None:
        cancel_job(self._url, self.jid)


@dataclass(frozen=True)
class RacedEngine:
    flink: LocalFlink
    servers: str
    groups: Sequence[CpuGroup]
    pids: Mapping[int, int]
    jar: Path

    def job(self, topic: str, from_ms: int, work_s: float) -> RacedJob:
        folder = self.flink.folder / topic
        folder.mkdir()
        arguments = {
            "servers": self.servers,
            "topic": topic,
            "from-ms": str(from_ms),
            "work-us": str(round(1e6 * work_s)),
            "latencies": str(folder),
            "job-name": topic,
        }
        jid = submit_job(self.flink.url, self.jar, arguments, main_class=MAIN_CLASS)
        return RacedJob(self.flink.url, jid, folder, self.pids, self.servers, topic)

    def hold(self, cores: float | None) -> None:
        """Of each task manager; None: as much as the machine has."""
        for group in self.groups:
            (group.folder / "cpu.cfs_quota_us").write_text("-1")
            if cores is not None:
                (group.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group.folder / "cpu.cfs_quota_us").write_text(str(round(cores * PERIOD_US)))


@contextlib.contextmanager
def raced_engine(folder: Path, task_managers: int) -> Iterator[RacedEngine]:
    """Without quotas at first. Raises ServiceError or KafkaBrokerError where it cannot be started here."""
    distribution, jar = _with_connector(folder)
    kafka = folder / "kafka"
    kafka.mkdir()
    with (
        kafka_broker(kafka) as broker,
        local_flink(
            folder / "flink",
            slots=1,
            task_managers=task_managers,
            task_manager_mib=900,
            checkpoint_interval_s=CHECKPOINT_S,
            within_s=180,
            distribution=distribution,
            options=OPTIONS,
        ) as flink,
        contextlib.ExitStack() as stack,
    ):
        name = f"forescale-race-{os.getpid()}"
        groups = [stack.enter_context(cpu_group(f"{name}-{at}", pid)) for at, pid in enumerate(flink.task_manager_pids)]
        stack.enter_context(cpu_group(f"{name}-job-manager", flink.job_manager_pid))
        yield RacedEngine(flink, broker.servers, groups, _by_port(flink.task_manager_pids), jar)


def _by_port(pids: Sequence[int]) -> dict[int, int]:
    return {
        each.laddr.port: pid
        for pid in pids
        for each in psutil.Process(pid).net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    }


def _with_connector(folder: Path) -> tuple[FlinkDistribution, Path]:
    """Flink with the connector and the job among its own jars, so that code that was compiled once stays compiled."""
    plain = flink_distribution()
    lib = folder / "lib"
    lib.mkdir()
    for jar in (*plain.lib.glob("*.jar"), *connector_jars()):
        (lib / jar.name).symlink_to(jar)
    distribution = FlinkDistribution(lib, plain.java_utils)
    jar = example_job(find_java(), distribution, folder, SOURCES, JAVA)
    (lib / jar.name).symlink_to(jar)
    if not jar.exists():
        raise LocalFlinkError(f"{jar} was not built; see above")
    return distribution, jar
