"""One launcher per folder: a second is refused, and leftovers of a killed one are ended first."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forescale.local.errors import ServiceError
from forescale.local.processes import left_of
from forescale.settings import SERVICES_OF

GONE_S = 10.0
"""Time limit for killed processes to be gone: milliseconds, unless the machine is very busy."""


@contextmanager
def sole_instance(home: Path) -> Iterator[None]:
    """Hold the folder. The lock ends with its holder, however that ends, but its services may live on.

    Raises ServiceError while another process holds it.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (home / "launcher.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                f"the services in {home} are already run by another process; stop it, or set FORESCALE_HOME"
            ) from None
        end_leftovers(home)
        yield


def end_leftovers(home: Path) -> None:
    """Kill the services of this folder, whoever started them, and wait until their ports are free."""
    import psutil

    killed = []
    recorded = set(left_of(home / "logs"))
    # psutil refuses to kill a process whose id has been reused.
    psutil.process_iter.cache_clear()
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError, PermissionError):
            ours = process.pid in recorded or process.environ().get(SERVICES_OF) == str(home)
            if ours and process.pid != os.getpid():
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=GONE_S)
