"""The configuration of the local cluster: loopback only, adaptive scheduler, quick rescales, short queues."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


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


_LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %c{1} - %m%n
"""
