"""Processes that live and die together: each in a session of its own, stopped with all that they have started."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType

from forescale.local.errors import ServiceError

GRACE_S = 2.0
"""How long processes get to end by themselves."""


class Processes:
    """Started services. Leaving the context stops every one of them, and what they have started.

    A signal to the parent alone leaves children behind, and Airflow puts each task into a process group of its own:
    what holds them together is the session.
    """

    def __init__(self, logs: Path) -> None:
        """logs: folder for one log file a process, named like it."""
        self.logs = logs
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Start a process in a session of its own; its output is appended to the log. Returns its id."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[name] = process
        return process.pid

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def check(self) -> None:
        """Raises ServiceError, with the end of its log, where a process has ended by itself."""
        for name, process in self.running.items():
            if (code := process.poll()) is not None:
                tail = self.log(name).read_text(errors="replace")[-2000:]
                raise ServiceError(f"{name} ended with code {code}; its log {self.log(name)} ends:\n{tail}")

    def kill(self, name: str) -> None:
        """End one process and its whole session at once, as a crash would."""
        process = self.running.pop(name)
        _signal(_sessions({process.pid}), signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all: a request to each process, then by force what is left of its session after GRACE_S.

        Doing it twice does nothing. Airflow and its jobs are safe to be killed at any point.
        """
        sessions = {process.pid for process in self.running.values()}
        deadline = time.monotonic() + GRACE_S
        _signal([pid for pid in _sessions(sessions) if pid in sessions], signal.SIGTERM)
        while _sessions(sessions) and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.1)
        while left := _sessions(sessions):
            _signal(left, signal.SIGKILL)
            self._reap()
            time.sleep(0.05)
        for process in self.running.values():
            process.wait()
        self.running.clear()

    def _reap(self) -> None:
        for process in self.running.values():
            process.poll()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """While it lasts, SIGTERM unwinds the stack as Ctrl-C does, so that contexts stop what they have started.

    Elsewhere than in the main thread, where Python lets nobody handle signals, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _sessions(leaders: set[int]) -> list[int]:
    """Ids of the live processes whose session one of the leaders began."""
    import psutil

    found = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) in leaders and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue
    return found


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
