"""One process of a machine deploys a step at a time: a deployment that was killed is told from one that still works."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from forescale.settings import Settings


@contextmanager
def deployment_lock(settings: Settings, step_id: str) -> Iterator[bool]:
    """Whether no other process of this machine deploys the step. Held until the block ends, or the process does."""
    folder = settings.home / "deployments"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{quote(step_id, safe='')}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
