"""A Flink cluster on loopback: one job manager and its task managers, stopped when the `with` block ends."""

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import FlinkDistribution, flink_distribution
from forescale.local.flink.java import Java, find_java
from forescale.local.ports import LOOPBACK, free_port
from forescale.local.processes import Processes, ended_by_signals

_OPENED = ["java.lang", "java.net", "java.io", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.text", "java.time"]

_LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %c{1} - %m%n
"""

_OPENED += ["java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"]
_STARTED_WITHIN = "-Dpekko.remote.classic.startup-timeout=120s"
"""In which a process begins to listen, 10 s else. The transport does not read Flink's own option (pekko.startup-timeout
becomes pekko.remote.startup-timeout).
"""
# The quickest start and the least CPU: the example job sleeps, it does not compute.
_JVM = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", _STARTED_WITHIN]
_JVM += [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in _OPENED]
_JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"


@dataclass(frozen=True)
class LocalFlink:
    """A running local cluster. url: of its REST interface; logs: folder of its logs. slots: of all task managers.
    job_manager_pid, task_manager_pids: ids of their processes.
    """

    url: str
    folder: Path
    logs: Path
    slots: int
    java: Java
    distribution: FlinkDistribution
    job_manager_pid: int = 0
    task_manager_pids: tuple[int, ...] = ()


@contextlib.contextmanager
def local_flink(
    folder: Path,
    *,
    slots: int = 16,
    task_managers: int = 1,
    rest_port: int | None = None,
    task_manager_mib: int = 1728,
    checkpoint_interval_s: float = 1.0,
    cooldown_s: float = 1.0,
    scheduler: str = "adaptive",
    within_s: float = 90.0,
    distribution: FlinkDistribution | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[LocalFlink]:
    """Start a cluster with its files in the folder, and stop it when the block ends, also on SIGTERM.

    slots, task_manager_mib: of each task manager. rest_port: by default a free one. cooldown_s: least time between two
    rescales. scheduler: of all jobs; with any but adaptive, a rescale restarts the job. options: of Flink's own, in
    place of those of LocalConfiguration.
    Raises LocalFlinkError without Java or when it is not up within_s seconds, ServiceError when the port is taken or a
    process ends by itself.
    """
    java = find_java()
    distribution = distribution or flink_distribution()
    rest_port, rpc_port = free_port(rest_port, tries=1) if rest_port else free_port(), free_port()
    folder = folder.resolve()
    conf = LocalConfiguration(
        folder,
        rest_port,
        rpc_port,
        slots,
        task_manager_mib,
        checkpoint_interval_s,
        cooldown_s,
        scheduler,
        options or {},
    ).write()
    url, logs = f"http://{LOOPBACK}:{rest_port}", folder / "logs"
    cluster = LocalFlink(url, folder, logs, slots * task_managers, java, distribution)
    with ended_by_signals(), Processes(cluster.logs, grace_s=10.0) as processes:
        job_manager = processes.start("jobmanager", _command(cluster, conf, _JOB_MANAGER, ["-Xmx512m"]))
        flags, arguments = _task_manager_memory(cluster, conf)
        command = _command(cluster, conf, _TASK_MANAGER, flags, arguments)
        pids = tuple(processes.start(f"taskmanager{number or ''}", command) for number in range(task_managers))
        _wait_until_up(cluster, processes, within_s)
        yield replace(cluster, job_manager_pid=job_manager, task_manager_pids=pids)


def _command(
    cluster: LocalFlink, conf: Path, main: str, jvm: list[str], arguments: list[str] | None = None
) -> list[str]:
    logging = f"-Dlog4j.configurationFile={conf / 'log4j.properties'}"
    launch = [str(cluster.java.java), *_JVM, *jvm, logging, "-cp", cluster.distribution.class_path]
    return [*launch, main, "--configDir", str(conf), *(arguments or [])]


def _task_manager_memory(cluster: LocalFlink, conf: Path) -> tuple[list[str], list[str]]:
    """JVM flags and -D options that divide the task manager's memory, as Flink's own start script computes them."""
    command = [str(cluster.java.java), "-cp", f"{cluster.distribution.class_path}:{cluster.distribution.java_utils}"]
    tool = ["org.apache.flink.runtime.util.bash.BashJavaUtils", "GET_TM_RESOURCE_PARAMS", "--configDir", str(conf)]
    done = subprocess.run([*command, *tool], capture_output=True, text=True, timeout=120)
    mark = "BASH_JAVA_UTILS_EXEC_RESULT:"
    lines = [line.removeprefix(mark) for line in done.stdout.splitlines() if line.startswith(mark)]
    if done.returncode or len(lines) < 2:
        raise LocalFlinkError(f"Flink cannot share out the memory: {(done.stderr or done.stdout)[-800:]}")
    return lines[0].split(), lines[1].split()


def _wait_until_up(cluster: LocalFlink, processes: Processes, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    with httpx.Client(base_url=cluster.url, timeout=5.0, trust_env=False) as client:
        while time.monotonic() < deadline:
            processes.check()
            with contextlib.suppress(httpx.HTTPError, ValueError):
                if client.get("/overview").json().get("slots-total") == cluster.slots:
                    return
            time.sleep(0.3)
    raise LocalFlinkError(
        f"Flink at {cluster.url} did not come up with {cluster.slots} slots within {within_s:g} s; "
        f"{processes.log_end('jobmanager')}\n{processes.log_end('taskmanager')}"
    )


@dataclass(frozen=True)
class LocalConfiguration:
    """What differs between two local clusters. rest_port, rpc_port: free ports for the job manager. more_options: of
    Flink's own, in place of those below.
    """

    folder: Path
    rest_port: int
    rpc_port: int
    slots: int
    task_manager_mib: int
    checkpoint_interval_s: float
    cooldown_s: float
    scheduler: str = "adaptive"
    more_options: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> Mapping[str, str]:
        """Flink's options, ready for config.yaml."""
        return {
            "jobmanager.rpc.address": "127.0.0.1",
            "jobmanager.rpc.port": str(self.rpc_port),
            "jobmanager.bind-host": "127.0.0.1",
            "rest.address": "127.0.0.1",
            "rest.bind-address": "127.0.0.1",
            "rest.bind-port": str(self.rest_port),
            "rest.port": str(self.rest_port),
            "taskmanager.host": "127.0.0.1",
            "taskmanager.bind-host": "127.0.0.1",
            "taskmanager.numberOfTaskSlots": str(self.slots),
            "taskmanager.memory.process.size": f"{self.task_manager_mib}m",
            "taskmanager.memory.managed.fraction": "0.05",
            # Small buffers, shrunk further to 0.2 s of work: a word count has tiny records, and many seconds of them
            # would queue between two operators. Saturation would show late, and a checkpoint would wait long under
            # backpressure.
            "taskmanager.memory.segment-size": "4kb",
            "taskmanager.network.memory.buffer-debloat.enabled": "true",
            "taskmanager.network.memory.buffer-debloat.target": "200 ms",
            "jobmanager.scheduler": self.scheduler,
            # Flink's default cooldown between rescales is 30 s, too long for a demo.
            "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": f"{self.cooldown_s:g} s",
            "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "1 s",
            "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout": "1 s",
            "web.adaptive-scheduler.rescale-history.size": "50",
            "execution.checkpointing.interval": f"{self.checkpoint_interval_s:g} s",
            "execution.checkpointing.dir": (self.folder / "checkpoints").as_uri(),
            "restart-strategy.type": "none",  # a failed job must show as failed
            # On a busy machine the processes answer late, also as they start: that is no failure.
            "heartbeat.timeout": "200 s",
            "pekko.ask.timeout": "120 s",
            "web.timeout": "120000",
            "metrics.fetcher.update-interval": "1000",
            "web.refresh-interval": "1000",
            "web.tmpdir": str(self.folder / "web"),
            "io.tmp.dirs": str(self.folder / "tmp"),
            "blob.storage.directory": str(self.folder / "blobs"),
            **self.more_options,
        }

    def write(self) -> Path:
        """Write config.yaml and the logging configuration; returns their folder."""
        conf = self.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        for name in ("tmp", "web", "blobs", "checkpoints"):
            (self.folder / name).mkdir(exist_ok=True)
        lines = [f'{name}: "{value}"' for name, value in self.options().items()]
        (conf / "config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (conf / "log4j.properties").write_text(_LOGGING, encoding="utf-8")
        return conf
