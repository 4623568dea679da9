"""An installation of forescale for tests: its folder, and its commands in processes of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_classes import options
from spark_cluster import LOOPBACK, SPARK_HOME

from forescale.submitted import build_history

SETTINGS = {
    # Small and soon started.
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {options()}".strip(),
    # Nothing starts before both executors are there.
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    # As on two machines, one does not read the other's disk; and it gives up soon on one that is gone.
    "spark.shuffle.readHostLocalDisk": "false",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "500ms",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    def said(self) -> list[str]:
        """The errors that forescale itself tells. spark-submit puts all that it runs writes onto standard output."""
        return [line for line in (self.out + self.err).splitlines() if line.startswith("forescale: ")]


@dataclass(frozen=True)
class Running:
    process: subprocess.Popen[str]

    def ended(self, within_s: float = 300) -> Ended:
        """What has not ended by then is killed, and the test fails."""
        try:
            out, err = self.process.communicate(timeout=within_s)
        except BaseException:
            self._kill()
            raise
        return Ended(self.process.returncode, out, err)

    def goes_on_until(self, condition: Callable[[], bool], within_s: float = 240) -> None:
        """The test fails where the process ends before, or the time is over; then it is killed."""
        deadline = time.monotonic() + within_s
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self._kill()
                raise AssertionError(f"ended, or not within {within_s} s: {self.ended()}")
            time.sleep(0.1)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Installation:
    """folder: its home, with topology files and events in it."""

    folder: Path

    def build(self, master: str, *arguments: str) -> Running:
        """`forescale history build` with that Spark master."""
        settings = json.dumps(self._settings())
        environment = self._environment() | {"FORESCALE_SPARK_MASTER": master, "FORESCALE_SPARK_SETTINGS": settings}
        forescale = Path(sys.executable).with_name("forescale")
        return self._started([str(forescale), "history", "build", *arguments], environment)

    def submit(self, master: str, options: list[str], *arguments: str) -> Running:
        """The same by spark-submit, which tells it the master and the settings."""
        given = [part for name, value in self._settings().items() for part in ("--conf", f"{name}={value}")]
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, *given, *options]
        environment = self._environment() | {"SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable}
        return self._started([*command, str(build_history.__file__), *arguments], environment)

    def spark_events(self) -> list[dict[str, Any]]:
        """What the drivers have logged of their jobs, so far as it is written."""
        files = sorted(self._log.glob("eventlog_*/events_*"))
        lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def snapshot(self) -> str:
        """The commit of the one history here, an id that is made of what it holds."""
        (manifest,) = self.folder.glob("history/*/_manifest.json")
        return str(json.loads(manifest.read_text())["snapshot"])

    def windows(self) -> dict[str, bytes]:
        """The files of windows of the history, by path."""
        history = self.folder / "history"
        return {str(file.relative_to(history)): file.read_bytes() for file in history.rglob("*.parquet")}

    @property
    def _log(self) -> Path:
        return self.folder / "spark-log"

    def _settings(self) -> dict[str, str]:
        self._log.mkdir(exist_ok=True)
        return SETTINGS | {"spark.eventLog.dir": self._log.as_uri()}

    def _environment(self) -> dict[str, str]:
        ours = ("FORESCALE_", "SPARK_", "PYSPARK_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        # Drivers that live for seconds repay no better compiler.
        quick = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", "SPARK_SUBMIT_OPTS": options()}
        return kept | quick | {"FORESCALE_HOME": str(self.folder), "FORESCALE_TOPOLOGIES": str(self.folder)}

    def _started(self, command: list[str], environment: dict[str, str]) -> Running:
        return Running(
            subprocess.Popen(
                command,
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                process_group=0,
            )
        )
