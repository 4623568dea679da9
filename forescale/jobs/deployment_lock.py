"""A lock per step on this machine: it distinguishes a killed deployment from one still at work."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

from forescale.situation.workspace import Workspace


@contextmanager
def deployment_lock(workspace: Workspace, step_id: str) -> Iterator[bool]:
    """Yields whether the lock was free. Held until the block or the process ends."""
    folder = workspace.settings.home / "deployments"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{quote(step_id, safe='')}.lock"
    while True:
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            if not _is_at(path, lock):
                continue
            try:
                yield True
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(path: Path, file: IO[str]) -> bool:
    """Whether the path still is the opened file: if it was removed, another process may hold a new one."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
