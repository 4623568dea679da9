"""Processor time and memory of a benchmark that works in several processes. Needs psutil."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

SAMPLED_EVERY_S = 0.5


def all_cpu_s() -> float:
    """CPU seconds of this process, of its running descendants, and of ended children that they have waited for."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@contextmanager
def memory_watched() -> Iterator[dict[str, float]]:
    """Peak resident memory in MiB within the context, by kind of process: "driver" (this one), "jvm", "worker".

    The largest of several processes of a kind counts. Pages shared by forked workers count in each.
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
