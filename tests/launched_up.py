"""`forescale up` as a process of its own, as whoever types it has it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from live_process import alive
from server_process import free_ports

FORESCALE = (sys.executable, "-c", "from forescale.cli import main; main()")
PATIENCE_S = 300
"""Within which processes end on a busy machine."""


def forescale(environment: Mapping[str, str], *words: str, answers: str = "") -> None:
    """A command, to its end."""
    subprocess.run([*FORESCALE, *words], env=environment, input=answers, text=True, check=True, timeout=PATIENCE_S)


def without_settings() -> dict[str, str]:
    """The environment of the tests without the variables that forescale reads."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FORESCALE_")}


@dataclass(frozen=True)
class LaunchedUp:
    """A launcher that has said that all is up. urls: as it said them: Airflow's, its page *Scaling*, MLflow's,
    and that of the plans."""

    process: subprocess.Popen[str]
    urls: tuple[str, ...]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)

    def end(self) -> int:
        """End it by a signal; returns its exit code once nothing that it started is left."""
        services = psutil.Process(self.process.pid).children(recursive=True)
        assert len(services) >= 5
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while left := [process for process in services if alive(process)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
        return self.process.returncode


def up_command(home: Path) -> tuple[str, ...]:
    """At ports that are free now."""
    airflow, mlflow = map(str, free_ports(2))
    return (*FORESCALE, "up", "--home", str(home), "--port", airflow, "--mlflow-port", mlflow)


@contextmanager
def launched(command: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[LaunchedUp]:
    """The launcher once it has said that all is up; ended with the context if it still runs."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Ctrl-C"):
                    break
            urls = tuple(re.findall(r"^\w+ +(http://127\.0\.0\.1:\d+)", "".join(lines), re.MULTILINE))
            assert len(urls) == 4, "".join(lines)
            yield LaunchedUp(process, urls)
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=PATIENCE_S)
