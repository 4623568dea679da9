"""Linear algebra on one thread: for the small matrices here, synchronising threads doubles the time."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread within the block, if threadpoolctl is installed."""
    if importlib.util.find_spec("threadpoolctl") is None:
        yield
        return
    with _controller(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _controller(loaded: int) -> Any:
    """Controls the loaded libraries; looking them up takes longer than a forecast, so only after new imports."""
    return importlib.import_module("threadpoolctl").ThreadpoolController()
