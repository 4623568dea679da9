"""A group of processes, each in its own session, stopped together with all their descendants."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from forescale.files.atomic import write_whole
from forescale.local.errors import ServiceError

GRACE_S = 2.0
TAIL_CHARACTERS = 2000
_START_TICKS = 19
"""Index of the start time among the fields of /proc/PID/stat after the command's name."""


class Processes:
    """Started services. Leaving the context stops all of them and their descendants.

    A signal to the parent alone leaves children running, and Airflow puts each task into its own process group, so
    processes are tracked by session.
    """

    def __init__(self, logs: Path, *, grace_s: float = GRACE_S) -> None:
        """logs: folder for a log file per process, named like it. grace_s: time for processes to end by themselves."""
        self.logs = logs
        self.grace_s = grace_s
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Start a process in its own session; its output is appended to the log. Returns its id.

        environment: None: that of this process.
        """
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                command,
                env=None if environment is None else dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[name] = process
        _record_session(process.pid, self._session(name))
        return process.pid

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _session(self, name: str) -> Path:
        return self.logs / f"{name}.session"

    def check(self) -> None:
        """Raises ServiceError, with the end of its log, if a process has ended by itself."""
        for name, process in self.running.items():
            if (code := process.poll()) is not None:
                raise ServiceError(f"{name} ended with code {code}; {self.log_end(name)}")

    def log_end(self, name: str) -> str:
        """The end of a log, for an error message."""
        log = self.log(name)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        return f"the end of {log}:\n{text[-TAIL_CHARACTERS:]}"

    def kill(self, name: str) -> None:
        """End one process and its whole session at once, as a crash would."""
        process = self.running.pop(name)
        _signal(_sessions({process.pid}), signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all: first by a signal to each process, then by force what remains of its session after grace_s.

        Idempotent. Airflow and its jobs can safely be killed at any point.
        """
        sessions = {process.pid for process in self.running.values()}
        deadline = time.monotonic() + self.grace_s
        _signal([pid for pid in _sessions(sessions) if pid in sessions], signal.SIGTERM)
        while _sessions(sessions) and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.1)
        while left := _sessions(sessions):
            _signal(left, signal.SIGKILL)
            self._reap()
            time.sleep(0.05)
        for name, process in self.running.items():
            process.wait()
            self._session(name).unlink(missing_ok=True)
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


def ended_by_signals() -> AbstractContextManager[None]:
    """In this context SIGTERM unwinds the stack as Ctrl-C does, so that contexts stop what they started."""

    def end() -> None:
        raise KeyboardInterrupt

    return signals_handled(end, signal.SIGTERM)


@contextmanager
def signals_handled(handle: Callable[[], None], *signals: signal.Signals) -> Iterator[None]:
    """Handle the signals in this context; the earlier handlers are restored at its end.

    Does nothing outside the main thread, where Python does not allow signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: handle()) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _record_session(leader: int, file: Path) -> None:
    """Record the session for `left_of`: a process that sets its title loses the environment that identifies it."""
    import psutil

    with suppress(psutil.NoSuchProcess):  # it ended at once; `check` reports that
        write_whole(f"{leader} {_began(leader)}", file)


def left_of(logs: Path) -> list[int]:
    """Ids of live processes started by Processes with this folder, by this or an earlier launcher."""
    import psutil

    leaders = set()
    for file in logs.glob("*.session"):
        words = file.read_text(encoding="utf-8").split()
        if len(words) != 2:
            continue  # the launcher was killed while writing
        if words[1].rpartition(":")[0] != _began(os.getpid()).rpartition(":")[0]:
            continue  # from before a reboot
        with suppress(psutil.NoSuchProcess):
            if _began(int(words[0])) != words[1]:
                continue  # the id belongs to another process now
        leaders.add(int(words[0]))  # even if it ended: its id stays reserved while its session lives
    return _sessions(leaders)


def _began(pid: int) -> str:
    """When a process began: in ticks since boot if available, as the clock may be set later.

    Raises psutil.NoSuchProcess.
    """
    import psutil

    try:
        run = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The command's name, in brackets, may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return repr(psutil.Process(pid).create_time())
    return f"{run}:{fields[_START_TICKS]}"


def _sessions(leaders: set[int]) -> list[int]:
    """Ids of the live processes in the sessions of these leaders."""
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
