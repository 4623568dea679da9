"""Processor time of a benchmark whose work is done by several processes. Needs psutil."""

from contextlib import suppress

import psutil


def all_cpu_s() -> float:
    """Of this process, of all that it started and that still runs, and of what they have waited for."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total
