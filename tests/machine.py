"""How late the machine is while a test measures real time: beside other work nothing takes as long as it is told to."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SLEEP_S = 0.002
QUIET = 1.1
"""Every sleep ends a little late: up to here nothing is allowed for."""


@dataclass
class Stretch:
    """factor: how many times as long as told a short sleep took; 1 on a quiet machine, more the more threads wait for
    its cores or the longer these stand still.
    """

    factor: float = 1.0


@contextmanager
def stretched() -> Iterator[Stretch]:
    """Sleeps over and over while the block runs; its factor is known at the end."""
    stretch, ended, slept = Stretch(), threading.Event(), [0, 0.0]

    def sleep() -> None:
        while not ended.is_set():
            began = time.perf_counter()
            time.sleep(SLEEP_S)
            slept[0] += 1
            slept[1] += time.perf_counter() - began

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    try:
        yield stretch
    finally:
        ended.set()
        sleeper.join()
        late = slept[1] / (slept[0] * SLEEP_S)
        stretch.factor = late if late > QUIET else 1.0
