"""Locks between processes of this machine: one deployment of a step, one plan of a topology at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

from forescale.files.file_lock import locked
from forescale.settings import Settings
from forescale.situation.workspace import Workspace

_ALL = ".all.lock"


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


@contextmanager
def planning_one(settings: Settings, topology: str) -> Iterator[None]:
    """Without it, two plans at once calibrate and register that twice."""
    folder = settings.home / "planning"
    with locked(folder / _ALL, shared=True), locked(folder / f"{quote(topology, safe='')}.lock"):
        yield


@contextmanager
def planning_all(settings: Settings) -> Iterator[None]:
    """One lock for all topologies: a file for each would be more than a process may open."""
    with locked(settings.home / "planning" / _ALL):
        yield
