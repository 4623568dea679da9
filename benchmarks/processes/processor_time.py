"""Processor time and memory of a benchmark whose work is done by several processes. Needs psutil."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

SAMPLED_EVERY_S = 0.5


def all_cpu_s() -> float:
    """Of this process, of all that it started and that still runs, and of what they have waited for."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@contextmanager
def memory_watched() -> Iterator[dict[str, float]]:
    """The largest resident memory seen meanwhile, in MiB, by kind of process: "driver" (this one), "jvm", "worker".

    Of several of a kind the largest counts. Pages that forked workers share are counted in each.
    """
    largest: dict[str, float] = {}
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLED_EVERY_S):
            own = psutil.Process()
            for process in [own, *own.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    kind = "driver" if process == own else "jvm" if "java" in process.name() else "worker"
                    largest[kind] = max(largest.get(kind, 0.0), process.memory_info().rss / 2**20)

    watching = threading.Thread(target=sample, daemon=True)
    watching.start()
    try:
        yield largest
    finally:
        ended.set()
        watching.join()
