"""A CPU quota for a running process: a control group of its own (cgroup v1), as a container has one."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 100_000
_FIRST_IN_LINE = "65536"
"""Shares beside which other work of the machine hardly counts: the process gets its quota."""


@contextlib.contextmanager
def cpu_quota(pid: int, cores: float) -> Iterator[None]:
    """Holds all threads of the process to that many cores until the block ends. Skips the test where no group can be
    made.
    """
    group = _ROOT / f"forescale-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no CPU quota can be set on this machine: {error}")
    try:
        (group / "cpu.shares").write_text(_FIRST_IN_LINE)
        (group / "cpu.cfs_quota_us").write_text(str(round(cores * _PERIOD_US)))
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        with contextlib.suppress(OSError):  # the process may have ended
            (_ROOT / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def pid_of(*words: str) -> int:
    """The process whose command line has all of these words."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and all(word in (folder / "cmdline").read_text() for word in words):
                return int(folder.name)
    raise LookupError(f"no process with {' and '.join(words)} on its command line")
