"""Waiting for a service on loopback that was just started."""

import time

import httpx

from forescale.local.errors import ServiceError
from forescale.local.processes import Processes


def wait_until_answers(url: str, name: str, processes: Processes, timeout_s: float = 300) -> None:
    """Wait until the process of that name answers with 200 at url.

    Raises ServiceError if one of the processes has ended, or it does not answer in time.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        processes.check()
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise ServiceError(f"{name} does not answer at {url} after {timeout_s:g} s; see {processes.log(name)}")
        time.sleep(0.2)
