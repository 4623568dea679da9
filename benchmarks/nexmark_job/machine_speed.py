"""How much work a second of CPU does just now: neighbours on the host and other programs take caches and clock away."""

import contextlib
import threading
import time
from collections.abc import Iterator

import numpy as np

_EVERY_S = 0.2
_LOOPS = 100_000


class MachineSpeed:
    """A thread that does the same small piece of work again and again, some 2 % of a core."""

    def __init__(self) -> None:
        self._pieces: list[tuple[float, float]] = []
        self._ends = threading.Event()

    def since(self, at_s: float) -> float:
        """Pieces of work per second of CPU since a moment of time.monotonic(), the median."""
        return float(np.median([1 / cpu_s for when_s, cpu_s in self._pieces if when_s >= at_s]))

    def _run(self) -> None:
        while not self._ends.wait(_EVERY_S):
            began_s = time.thread_time()
            sum(range(_LOOPS))
            self._pieces.append((time.monotonic(), time.thread_time() - began_s))


@contextlib.contextmanager
def machine_speed() -> Iterator[MachineSpeed]:
    speed = MachineSpeed()
    thread = threading.Thread(target=speed._run, daemon=True)
    thread.start()
    try:
        yield speed
    finally:
        speed._ends.set()
        thread.join()
