"""The real command line, a process each, within bounds of time and memory: what it says and how it ends.

Processes are forked from one that has imported everything: a command takes a tenth of a second, not three.
"""

import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from machine import in_line_s

from forescale.cli.commands import every_command
from forescale.cli.main import main

IMPORTED = (
    "forescale.cli.expected",
    *(f"forescale.cli.{command.module or '_'.join(words)}" for words, command in every_command().items()),
    *("forescale.jobs.plan", "forescale.jobs.plan_all", "planner.ledger.migrate", "alembic.command", "scipy.stats"),
)
DEFECT, KILLED, TOO_LARGE = 70, -signal.SIGKILL, -signal.SIGUSR1
MAX_MIB = 1500
"""Of memory that a command may take, counted as it stands: libraries set aside much more than they use."""


@dataclass(frozen=True)
class Ending:
    """code: of the exit; DEFECT for any other exception than that, KILLED where it did not
    end in time, TOO_LARGE where it took too much memory."""

    code: int
    out: str
    err: str
    seconds: float


class ForkedCommands:
    """One process from which all commands are forked. also: modules that it imports beside those of all commands."""

    def __init__(self, also: Sequence[str] = ()) -> None:
        self._also = also

    def __enter__(self) -> "ForkedCommands":
        self._process = subprocess.Popen(
            [sys.executable, __file__, *self._also], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        encoding: str = "utf-8",
        within_s: float = 20,
    ) -> Ending:
        """A command in a working folder. encoding: of its terminal. within_s: not counted are the seconds for which it
        stands in line for a core.
        """
        asked = [list(arguments), dict(environment), str(folder), encoding, within_s]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return Ending(*json.loads(self._process.stdout.readline()))


def _serve() -> None:
    for name in (*IMPORTED, *sys.argv[1:]):
        __import__(name)
    for line in sys.stdin:
        arguments, environment, folder, encoding, within_s = json.loads(line)
        pipes = [os.pipe(), os.pipe()]
        begun = time.monotonic()
        child = os.fork()
        if child == 0:
            _run(arguments, environment, folder, encoding, [write for _, write in pipes])
        with suppress(OSError):  # the child has done it, and perhaps ended
            os.setpgid(child, child)
        for _, write in pipes:
            os.close(write)
        code, said = _awaited(child, [read for read, _ in pipes], begun + within_s)
        out, err = (text.decode(errors="replace") for text in said)
        print(json.dumps([code, out, err, time.monotonic() - begun]), flush=True)


def _awaited(child: int, pipes: list[int], until: float) -> tuple[int, list[bytes]]:
    said = dict.fromkeys(pipes, b"")
    open_pipes = set(pipes)
    kill = signal.SIGKILL
    while open_pipes and time.monotonic() < until + in_line_s(child):
        if _mib(child) > MAX_MIB:
            kill = signal.SIGUSR1
            break
        for pipe in select.select(list(open_pipes), [], [], 0.1)[0]:
            if content := os.read(pipe, 1 << 16):
                said[pipe] += content[: max(0, (1 << 22) - len(said[pipe]))]
            else:
                open_pipes.discard(pipe)
    if open_pipes:
        os.killpg(child, kill)
    for pipe in pipes:
        os.close(pipe)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), list(said.values())


def _mib(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (ProcessLookupError, FileNotFoundError):
        return 0  # it has ended meanwhile
    return pages * resource.getpagesize() >> 20


def _run(arguments: list[str], environment: dict[str, str], folder: str, encoding: str, pipes: list[int]) -> None:
    os.setpgid(0, 0)
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, pipe in zip((1, 2), pipes, strict=True):
        os.dup2(pipe, descriptor)
    # As Python opens them at its start: the standard error escapes what it cannot write.
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding=encoding, write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding=encoding, errors="backslashreplace", write_through=True)
    code = DEFECT
    try:
        # Arguments come as Python decodes them: what is not UTF-8 as lone surrogates.
        main(arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
