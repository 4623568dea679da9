"""A real Spark standalone cluster on loopback for tests: a master and two workers, gone when the `with` block ends."""

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyspark
from server_process import free_ports
from spark_classes import options

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
# The quickest start and the least memory; and no door for whole drivers, which would be at a fixed port.
_DAEMON = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-Dspark.master.rest.enabled=false"]
_DAEMON += options().split()


class SparkClusterError(RuntimeError):
    """There is no Java to start the cluster with, or it did not come up."""


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster. master: its URL. page: of the master, for people and as JSON. workers: one core each."""

    master: str
    page: str
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]]

    def start_worker(self, name: str, memory_mib: int = 700) -> None:
        work = self.folder / name
        command = ["org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
        command += ["--cores", "1", "--memory", f"{memory_mib}M", "--work-dir", str(work), self.master]
        self.processes[name] = _started(command, self.folder / f"{name}.log", self.folder)

    def kill(self, name: str) -> None:
        """As if the machine of that worker had lost its power: its executors are killed with it."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(120)

    def alive_workers(self) -> int:
        return int(httpx.get(f"{self.page}/json/", timeout=60, trust_env=False).json()["aliveworkers"])

    def wait_for_workers(self, number: int, within_s: float = 240) -> None:
        """Raises SparkClusterError when they have not registered within_s seconds."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and all(process.poll() is None for process in self.processes.values()):
            # A page that is just coming up answers everything with its front.
            with contextlib.suppress(httpx.TransportError, json.JSONDecodeError):
                if self.alive_workers() == number:
                    return
            time.sleep(0.1)
        logs = "\n".join(f"{file}:\n{file.read_text(errors='replace')[-1500:]}" for file in self.folder.glob("*.log"))
        raise SparkClusterError(f"Spark at {self.master} has no {number} workers; the ends of its logs:\n{logs}")

    def stop(self) -> None:
        """End all of it. Nothing of its data is wanted, so it is not asked to tidy up. Python workers end by
        themselves when their executor is gone.
        """
        for name in list(self.processes):
            self.kill(name)


@contextlib.contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """Start a master and the workers `first` and `second`, which work in that folder. Raises SparkClusterError."""
    port, page_port = free_ports(2)
    cluster = SparkCluster(f"spark://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{page_port}", folder, {})
    atexit.register(cluster.stop)
    try:
        command = ["org.apache.spark.deploy.master.Master", "--host", LOOPBACK, "--port", str(port)]
        command += ["--webui-port", str(page_port)]
        cluster.processes["master"] = _started(command, folder / "master.log", folder)
        for name in ("first", "second"):
            cluster.start_worker(name)
        cluster.wait_for_workers(2)
        yield cluster
    finally:
        cluster.stop()
        atexit.unregister(cluster.stop)


def java() -> str:
    """The program. Raises SparkClusterError where there is none."""
    if (found := shutil.which("java")) is None:
        raise SparkClusterError("no java on PATH to run Spark with; run: make setup")
    return found


def _started(command: list[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
    """In a process group of its own, and killed with us even where we are killed and can stop nothing."""
    with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_HOME": str(SPARK_HOME),
        # What Spark's own start scripts tell a worker, which looks for the jars of a build otherwise.
        "SPARK_SCALA_VERSION": "2.13",
        # Everything listens here, also the pages; elsewhere Spark would take the address of the machine's name.
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [*with_us, java(), *_DAEMON, "-cp", _class_path(), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            process_group=0,
        )


def _class_path() -> str:
    """In the order of Spark's own scripts, of which the archive of its classes is."""
    return ":".join([*map(str, SPARK_HOME.glob("jars/slf4j-api-*.jar")), f"{SPARK_HOME}/jars/*"])
