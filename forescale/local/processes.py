"""Processes that live and die together: each in a session of its own, stopped with all that they have started."""

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
"""Among the fields of /proc/PID/stat behind the name of the command."""


class Processes:
    """Started services. Leaving the context stops every one of them, and what they have started.

    A signal to the parent alone leaves children behind, and Airflow puts each task into a process group of its own:
    what holds them together is the session.
    """

    def __init__(self, logs: Path, *, grace_s: float = GRACE_S) -> None:
        """logs: folder for one log file a process, named like it. grace_s: how long processes get to end themselves."""
        self.logs = logs
        self.grace_s = grace_s
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Start a process in a session of its own; its output is appended to the log. Returns its id.

        environment: that of this process where None.
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
        """Raises ServiceError, with the end of its log, where a process has ended by itself."""
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
        """End all: a request to each process, then by force what is left of its session after grace_s.

        Doing it twice does nothing. Airflow and its jobs are safe to be killed at any point.
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
    """While it lasts, SIGTERM unwinds the stack as Ctrl-C does, so that contexts stop what they have started."""

    def end() -> None:
        raise KeyboardInterrupt

    return signals_handled(end, signal.SIGTERM)


@contextmanager
def signals_handled(handle: Callable[[], None], *signals: signal.Signals) -> Iterator[None]:
    """While it lasts; what handled them before is put back.

    Elsewhere than in the main thread, where Python lets nobody handle signals, it does nothing.
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
    """Written down for `left_of`: a process that sets its title loses the environment that it could be known by."""
    import psutil

    with suppress(psutil.NoSuchProcess):  # ended at once: `check` tells
        write_whole(f"{leader} {_began(leader)}", file)


def left_of(logs: Path) -> list[int]:
    """Ids of live processes that Processes with this folder has started, in this or an earlier life of the launcher."""
    import psutil

    leaders = set()
    for file in logs.glob("*.session"):
        words = file.read_text(encoding="utf-8").split()
        if len(words) != 2:
            continue  # the launcher was killed while it wrote
        if words[1].rpartition(":")[0] != _began(os.getpid()).rpartition(":")[0]:
            continue  # of an earlier run of the machine
        with suppress(psutil.NoSuchProcess):
            if _began(int(words[0])) != words[1]:
                continue  # the id is somebody else's now
        leaders.add(int(words[0]))  # or it has ended, and its id stays taken while anything of its session lives
    return _sessions(leaders)


def _began(pid: int) -> str:
    """When a process began: in ticks of this run of the machine where that is told, as its clock may be set later.

    Raises psutil.NoSuchProcess.
    """
    import psutil

    try:
        run = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The name of the command, in brackets, may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return repr(psutil.Process(pid).create_time())
    return f"{run}:{fields[_START_TICKS]}"


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
