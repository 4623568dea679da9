"""Processes of the local cluster: one process group, logs in files, stopped together."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from forescale.local.flink.errors import LocalFlinkError

LOG_TAIL_LINES = 15


class ProcessGroup:
    """Processes that are ours alone and end together. Their output goes to files in the folder of logs."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process in the group. Its output goes to `<name>.log`."""
        self.logs.mkdir(parents=True, exist_ok=True)
        leader = next(iter(self._running.values()), None)
        with self.log_file(name).open("wb") as log:
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of their own: an interrupt at the terminal must reach us first, we then stop them in order.
                process_group=leader.pid if leader else 0,
            )

    def log_file(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def check(self) -> None:
        """Raises LocalFlinkError with the end of its log if a process has ended by itself."""
        for name, process in self._running.items():
            if (code := process.poll()) is not None:
                raise LocalFlinkError(f"Flink's {name} ended with code {code}; {self.tail(name)}")

    def tail(self, name: str) -> str:
        """The end of a log, for an error message."""
        path = self.log_file(name)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        return f"the end of {path}:\n" + "\n".join(lines[-LOG_TAIL_LINES:])

    def stop(self, within_s: float = 10.0) -> None:
        """Ask all to end, and kill those that have not after a while. Safe to call again."""
        if not self._running:
            return
        group = next(iter(self._running.values())).pid
        for sign, patience_s in ((signal.SIGTERM, within_s), (signal.SIGKILL, within_s)):
            # While one of ours has not been waited for, its pid and so the group's id cannot belong to anybody else.
            if all(process.returncode is not None for process in self._running.values()):
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, sign)
            self._wait(patience_s)
        self._running.clear()

    def _wait(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
