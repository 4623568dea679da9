"""Ports on loopback."""

import socket
from contextlib import closing

from forescale.local.errors import ServiceError

LOOPBACK = "127.0.0.1"


def free_port(preferred: int = 0, *, tries: int = 50) -> int:
    """The preferred port if it is free, else the next free one; 0: any free one.

    Raises ServiceError when none of the `tries` ports is free.
    """
    for port in range(preferred, preferred + tries):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    if tries == 1:
        raise ServiceError(f"port {preferred} on {LOOPBACK} is taken; free it, or give another")
    raise ServiceError(
        f"no free port among {preferred} … {preferred + tries - 1} on {LOOPBACK}; free one, or give another"
    )
