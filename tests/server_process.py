"""Servers that tests start on loopback: processes of our own, gone when the run ends, however it ends."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from forescale.local.ports import free_port


def started(command: Sequence[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
    """In a process group of its own, and killed with us even where we are killed and can stop nothing."""
    with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log.open("wb") as output:
        return subprocess.Popen(
            [*with_us, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
            cwd=folder,
        )


def killed(process: subprocess.Popen[bytes], within_s: float = 120.0) -> None:
    """End it with all that it started. Nothing of its data is wanted, so it is not asked to tidy up."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(within_s)


def free_ports(number: int) -> list[int]:
    found = set[int]()
    while len(found) < number:
        found.add(free_port())
    return list(found)
