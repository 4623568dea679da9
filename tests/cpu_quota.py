"""A CPU quota for a running process, and the process to give it to."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cpu_group import cpu_group

from forescale.local.errors import ServiceError


@contextlib.contextmanager
def cpu_quota(pid: int, cores: float) -> Iterator[None]:
    """Holds all threads of the process to that many cores until the block ends. Skips the test where no group can be
    made.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(cpu_group(f"forescale-test-{os.getpid()}", pid, cores))
        except ServiceError as error:
            pytest.skip(str(error))
        yield


def pid_of(*words: str) -> int:
    """The process whose command line has all of these words."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and all(word in (folder / "cmdline").read_text() for word in words):
                return int(folder.name)
    raise LookupError(f"no process with {' and '.join(words)} on its command line")
