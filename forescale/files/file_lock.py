"""A lock by file between processes of this machine; it ends with the process that holds it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Wait for the lock of this file, and hold it until the block or the process ends. shared: beside others that are
    shared.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
