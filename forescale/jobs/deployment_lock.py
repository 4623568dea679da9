"""One process of a machine deploys a step at a time: a deployment that was killed is told from one that still works."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

from forescale.settings import Settings


@contextmanager
def deployment_lock(settings: Settings, step_id: str) -> Iterator[bool]:
    """Whether no other process of this machine deploys the step. Held until the block ends, or the process does."""
    folder = settings.home / "deployments"
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
    """Whether nobody removed it since it was opened: another process may hold a new one of that name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
