"""Ports on loopback."""

import socket
from collections.abc import Iterable
from contextlib import closing
from random import SystemRandom

from forescale.local.errors import ServiceError

LOOPBACK = "127.0.0.1"
UNGIVEN = range(20_000, 32_768)
"""Below the ports that Linux gives to connections and to whoever binds port 0: one of these may be gone by the time a
server that takes seconds to start binds it.
"""


def free_port(preferred: int = 0, *, tries: int = 50) -> int:
    """The preferred port if it is free, else the next free one; 0: any free one of UNGIVEN.

    Raises ServiceError when none of the `tries` ports is free.
    """
    # Two processes may have the same seed of the other generator.
    ports: Iterable[int] = range(preferred, preferred + tries) if preferred else SystemRandom().sample(UNGIVEN, tries)
    for port in ports:
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    if not preferred:
        raise ServiceError(f"none of {tries} ports from {UNGIVEN[0]} to {UNGIVEN[-1]} on {LOOPBACK} is free; free one")
    if tries == 1:
        raise ServiceError(f"port {preferred} on {LOOPBACK} is taken; free it, or give another")
    raise ServiceError(
        f"no free port among {preferred} … {preferred + tries - 1} on {LOOPBACK}; free one, or give another"
    )
