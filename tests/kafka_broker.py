"""A real Kafka broker on loopback for tests: one node, our own, gone when the `with` block or the test run ends."""

import atexit
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from server_process import free_ports

from forescale.settings import PROJECT

POM = PROJECT / "tests" / "kafka" / "pom.xml"
CACHE = PROJECT / ".cache" / "kafka"
USER, PASSWORD = "reader", "reader-password"
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
# The quickest start and the least CPU and memory.
_JVM = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]


class KafkaBrokerError(RuntimeError):
    """There is no broker to start here, or it did not come up."""


@dataclass(frozen=True)
class KafkaBroker:
    """A running broker. servers: where it lets everybody in; guarded_servers: where only USER with PASSWORD."""

    servers: str
    guarded_servers: str
    folder: Path
    process: subprocess.Popen[bytes]

    def stop(self, within_s: float = 120.0) -> None:
        """End it with all that it started. Nothing of its data is wanted, so it is not asked to tidy up."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(within_s)

    def pause(self) -> None:
        """It holds its connections and answers nothing, as a broker does whose machine hangs."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)


def kafka_jars() -> str:
    """The class path of the broker. Raises KafkaBrokerError where the jars or Java are lacking."""
    found = re.search(r"<kafka\.version>(.*)</kafka\.version>", POM.read_text(encoding="utf-8"))
    assert found is not None, f"{POM} names no kafka.version"
    home = CACHE / found[1]
    if not home.is_dir():
        raise KafkaBrokerError(f"no Kafka broker in {home}; run: bash scripts/tools.sh kafka")
    if shutil.which("java") is None:
        raise KafkaBrokerError("no java on PATH to run the Kafka broker with; run: make setup")
    return f"{home}/*"


@contextlib.contextmanager
def kafka_broker(folder: Path, within_s: float = 240.0) -> Iterator[KafkaBroker]:
    """Start a broker whose data lies in that folder. Raises KafkaBrokerError when it is not up within_s seconds."""
    jars = kafka_jars()
    open_port, guarded_port, controller_port = free_ports(3)
    properties = folder / "server.properties"
    properties.write_text(_properties(folder, open_port, guarded_port, controller_port), encoding="utf-8")
    log = folder / "broker.log"
    _format_storage(jars, properties)
    broker = KafkaBroker(
        f"127.0.0.1:{open_port}",
        f"127.0.0.1:{guarded_port}",
        folder,
        _started([*_java(jars), "kafka.Kafka", str(properties)], log),
    )
    atexit.register(broker.stop)
    try:
        _wait_until_up(broker, log, within_s)
        yield broker
    finally:
        broker.stop()
        atexit.unregister(broker.stop)


def _properties(folder: Path, open_port: int, guarded_port: int, controller_port: int) -> str:
    """What forgets and compacts does so within a second, so that tests see it; nothing is kept more than once."""
    listeners = {"OPEN": open_port, "GUARDED": guarded_port}
    written = [f"{name}://127.0.0.1:{port}" for name, port in listeners.items()]
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return "\n".join(
        [
            "process.roles=broker,controller",
            "node.id=1",
            f"controller.quorum.voters=1@127.0.0.1:{controller_port}",
            f"listeners={','.join(written)},CONTROLLER://127.0.0.1:{controller_port}",
            f"advertised.listeners={','.join(written)}",
            "listener.security.protocol.map=OPEN:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names=CONTROLLER",
            "inter.broker.listener.name=OPEN",
            "listener.name.guarded.sasl.enabled.mechanisms=PLAIN",
            f'listener.name.guarded.plain.sasl.jaas.config={login} user_{USER}="{PASSWORD}";',
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:ANONYMOUS",
            "allow.everyone.if.no.acl.found=true",
            f"log.dirs={folder / 'data'}",
            "auto.create.topics.enable=false",
            "offsets.topic.replication.factor=1",
            "offsets.topic.num.partitions=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "transaction.state.log.num.partitions=1",
            "log.initial.task.delay.ms=100",
            "log.retention.check.interval.ms=300",
            "log.cleaner.backoff.ms=200",
            "log.cleaner.dedupe.buffer.size=2097152",
        ]
    )


def _format_storage(jars: str, properties: Path) -> None:
    command = [*_java(jars), "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(properties)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise KafkaBrokerError(f"Kafka cannot prepare {properties.parent}: {(done.stderr or done.stdout)[-800:]}")


def _started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """In a process group of its own, and killed with us even where we are killed and can stop nothing."""
    with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log.open("wb") as output:
        return subprocess.Popen(
            [*with_us, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, process_group=0
        )


def _wait_until_up(broker: KafkaBroker, log: Path, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and broker.process.poll() is None:
        # Nobody is asked before somebody listens: the client would wait longer after each refusal.
        if all(_listens(servers) for servers in (broker.servers, broker.guarded_servers)):
            with contextlib.suppress(KafkaException):
                AdminClient({"bootstrap.servers": broker.servers}).list_topics(timeout=5.0)
                return
        time.sleep(0.1)
    text = log.read_text(encoding="utf-8", errors="replace")
    raise KafkaBrokerError(f"Kafka at {broker.servers} did not come up; the end of {log}:\n{text[-1500:]}")


def _listens(servers: str) -> bool:
    host, port = servers.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def _java(jars: str) -> list[str]:
    return ["java", *_JVM, "-cp", jars]
