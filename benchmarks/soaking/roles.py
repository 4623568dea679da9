"""A role: a process that runs one job after another, each in a process forked from it, as a scheduler does.

A job goes through its topologies in turn, in one process, as `forescale plan --all` does. The role is forked from a
process that has imported everything, which saves each job three seconds. It can be killed together with its job and
started again.
"""

import json
import os
import resource
import signal
import socket
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Job = Callable[[str], Mapping[str, str]]
"""A job of a topology: it returns the error of each failed stage, and its decision as DECISION."""
DEFECT, DECISION = "internal error", "decision"


@dataclass(frozen=True)
class Answer:
    """errors: by stage. decision: id of the schedule, if one was made. peak_mib: peak memory of the job; role_mib:
    memory of the role itself; cpu_s: of the job, in equal parts for its topologies.
    """

    errors: Mapping[str, str]
    peak_mib: float
    role_mib: float
    cpu_s: float
    decision: str = ""


class RoleKilledError(Exception):
    """The role was killed while its job ran."""


class Role:
    """jobs: by name. log: their output. forks: False if jobs run in the role itself, one after the other."""

    def __init__(self, jobs: Mapping[str, Job], log: Path, *, forks: bool = True) -> None:
        self._jobs, self._log, self._forks = jobs, log, forks
        self._pid = 0
        self.start()

    def start(self) -> None:
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            os.setpgid(0, 0)
            try:
                self._serve(theirs)
            finally:
                os._exit(0)
        theirs.close()
        self._lines = ours.makefile("rw", encoding="utf-8")
        ours.close()

    def begin(self, job: str, topologies: Sequence[str]) -> None:
        self._lines.write(json.dumps([job, topologies]) + "\n")
        self._lines.flush()

    def answers(self) -> list[Answer]:
        """Answers of the job that was begun, by its topologies. Raises RoleKilledError."""
        line = self._lines.readline()
        if not line:
            raise RoleKilledError
        return [Answer(**answer) for answer in json.loads(line)]

    def run(self, job: str, topology: str) -> Answer:
        self.begin(job, [topology])
        return self.answers()[0]

    def kill(self) -> None:
        """Kill the role and its job at once."""
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._lines.close()

    def _serve(self, connection: socket.socket) -> None:
        with self._log.open("a") as log:
            for descriptor in (1, 2):
                os.dup2(log.fileno(), descriptor)
        with connection.makefile("rw", encoding="utf-8") as lines:
            for line in lines:
                job, topologies = json.loads(line)
                answers = (self._forked if self._forks else self._run)(job, topologies)
                lines.write(json.dumps(answers) + "\n")
                lines.flush()

    def _forked(self, job: str, topologies: Sequence[str]) -> list[dict[str, object]]:
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            try:
                with os.fdopen(write, "w") as out:
                    json.dump(self._run(job, topologies), out)
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            text = pipe.read()
        _, status, usage = os.wait4(child, 0)
        answers: list[dict[str, object]] = (
            json.loads(text) if text else [{"errors": {job: f"{DEFECT}: ended with {status}"}} for _ in topologies]
        )
        cost = {
            "peak_mib": usage.ru_maxrss / 1024,
            "role_mib": _held_mib(),
            "cpu_s": (usage.ru_utime + usage.ru_stime) / len(topologies),
        }
        return [answer | cost for answer in answers]

    def _run(self, job: str, topologies: Sequence[str]) -> list[dict[str, object]]:
        return [self._answer(job, topology) for topology in topologies]

    def _answer(self, job: str, topology: str) -> dict[str, object]:
        begun_s = time.process_time()
        try:
            errors = dict(self._jobs[job](topology))
        except Exception:  # noqa: BLE001 - whatever it is, it is reported
            errors = {job: f"{DEFECT}: {traceback.format_exc()}"}
        usage = resource.getrusage(resource.RUSAGE_SELF)
        decision = errors.pop(DECISION, "")
        return {
            "errors": errors,
            "decision": decision,
            "peak_mib": usage.ru_maxrss / 1024,
            "role_mib": _held_mib(),
            "cpu_s": time.process_time() - begun_s,
        }


def _held_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
