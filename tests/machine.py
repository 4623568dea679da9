"""How late the machine is while a test measures real time: beside other work nothing takes as long as it is told to."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

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


@contextmanager
def waits(at_most_s: float, at_least_s: float = 0.0) -> Iterator[None]:
    """The block waits for so long. Not counted is what it computes, nor for how long its threads stand in line for a
    core: beside other work tenths of a second become seconds.
    """
    began_s, busy_s = time.monotonic(), time.process_time() + in_line_s()
    yield
    took_s = time.monotonic() - began_s
    waited_s = took_s - (time.process_time() + in_line_s() - busy_s)
    assert took_s >= at_least_s, f"took {took_s:.1f} s"
    assert waited_s <= at_most_s, f"waited {waited_s:.1f} of {took_s:.1f} s"


def in_line_s(process: int | str = "self") -> float:
    """For how long the threads of a process have stood in line for a core so far, together; 0 where Linux tells not."""
    in_line_ns = 0
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError, IndexError):  # it has ended meanwhile
                in_line_ns += int((thread / "schedstat").read_text().split()[1])
    return in_line_ns / 1e9
