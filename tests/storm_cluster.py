"""A real Storm with its UI on loopback for tests: one process, our own, gone when the `with` block or the run ends."""

import atexit
import contextlib
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
from server_process import free_ports, killed, started

from forescale.settings import PROJECT

SCRIPT = PROJECT / "tests" / "storm" / "local_storm.clj"
POM = PROJECT / "tests" / "storm" / "pom.xml"
TOPOLOGIES = (PROJECT / "tests" / "storm", PROJECT / "examples" / "storm")
"""Folders of the topologies that it can run, each a namespace with `submitted`."""
CACHE = PROJECT / ".cache" / "storm"
TOPOLOGY = "words"
# The quickest start and the least CPU and memory; what Storm's libraries look into was open in the Java of their time.
_JVM = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx384m",
    "-Dzookeeper.sasl.client=false",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.nio", "java.util", "sun.nio.ch")),
]


class StormError(RuntimeError):
    """There is no Storm to start here, or it did not come up."""


@dataclass(frozen=True)
class StormCluster:
    """A running Storm. url: of its UI. rate: the file that says how many sentences a second word-count gets."""

    url: str
    rate: Path
    process: subprocess.Popen[bytes]

    def stop(self, within_s: float = 120.0) -> None:
        killed(self.process, within_s)


def storm_jars() -> str:
    """Storm's class path. Raises StormError where the jars or Java are lacking."""
    found = re.search(r"<storm\.version>(.*)</storm\.version>", POM.read_text(encoding="utf-8"))
    assert found is not None, f"{POM} names no storm.version"
    home = CACHE / found[1]
    if not home.is_dir():
        raise StormError(f"no Storm in {home}; run: bash scripts/tools.sh storm")
    if shutil.which("java") is None:
        raise StormError("no java on PATH to run Storm with; run: make setup")
    return f"{home}/*"


@contextlib.contextmanager
def storm_cluster(
    folder: Path, topology: str = TOPOLOGY, slots: int = 1, within_s: float = 240.0
) -> Iterator[StormCluster]:
    """Start a Storm with so many slots that runs a topology. Raises StormError when it does not within_s seconds."""
    jars = storm_jars()
    zookeeper_port, nimbus_port, ui_port = free_ports(3)
    settings = {
        "nimbus.seeds": '["localhost"]',
        "nimbus.thrift.port": nimbus_port,
        "ui.host": "127.0.0.1",
        "ui.port": ui_port,
        "storm.local.hostname": "localhost",
        "topology.stats.sample.rate": 1.0,
        "task.heartbeat.frequency.secs": 1,
        "nimbus.monitor.freq.secs": 2,
        "supervisor.monitor.frequency.secs": 1,
    }
    (folder / "storm.yaml").write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
    # ZooKeeper 3.4 looks up an address by what Java says of it, and Java says more of it since release 14.
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost localhost/<unresolved> {socket.gethostname()}\n")
    rate = folder / "rate"
    folders = {"jdk.net.hosts.file": hosts, "java.io.tmpdir": folder, "storm.home": folder, "word-count.rate": rate}
    java = ["java", *_JVM, *(f"-D{name}={value}" for name, value in folders.items())]
    classes = ":".join(map(str, (folder, *TOPOLOGIES, jars)))
    ports = (str(zookeeper_port), str(nimbus_port))
    command = [*java, "-cp", classes, "clojure.main", str(SCRIPT), *ports, str(folder), str(slots), topology]
    log = folder / "storm.log"
    storm = StormCluster(f"http://127.0.0.1:{ui_port}", rate, started(command, log, folder))
    atexit.register(storm.stop)
    try:
        _wait_until_up(storm, log, within_s)
        yield storm
    finally:
        storm.stop()
        atexit.unregister(storm.stop)


def _wait_until_up(storm: StormCluster, log: Path, within_s: float) -> None:
    """Until the UI shows the topology, all its executors have reported, and its spout has emitted."""
    deadline = time.monotonic() + within_s
    told = ""
    with httpx.Client(base_url=f"{storm.url}/api/v1/topology", trust_env=False, timeout=60) as ui:
        while time.monotonic() < deadline and storm.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError, KeyError, IndexError, ValueError):
                id = ui.get("/summary").json()["topologies"][0]["id"]
                shown = ui.get(f"/{id}").json()
                names = [spout["spoutId"] for spout in shown["spouts"]] + [bolt["boltId"] for bolt in shown["bolts"]]
                pages = [ui.get(f"/{id}/component/{name}").json() for name in names]
                uptimes = [each["uptimeSeconds"] for page in pages for each in page["executorStats"]]
                emitted = pages[0]["executorStats"][0]["emitted"]
                told = f"executors up for {uptimes} s, {emitted} tuples emitted"
                assigned = sum(int(each["executors"]) for each in shown["spouts"] + shown["bolts"])
                if len(uptimes) == assigned and min(uptimes) > 0 and emitted > 0:
                    return
            time.sleep(0.5)
    text = log.read_text(encoding="utf-8", errors="replace")
    raise StormError(f"Storm at {storm.url} did not come up ({told}); the end of {log}:\n{text[-1500:]}")
