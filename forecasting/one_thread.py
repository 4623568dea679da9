"""Linear algebra on one thread: the matrices here are small, and threads that wait for each other double the time."""

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread meanwhile, where threadpoolctl is installed."""
    if importlib.util.find_spec("threadpoolctl") is None:
        yield
        return
    threads = importlib.import_module("threadpoolctl")
    with threads.threadpool_limits(limits=1):
        yield
