"""Worker processes that end with their parent."""

import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait


def worker_processes(count: int) -> Executor:
    """An executor of `count` processes; for 1 a thread of this process."""
    if count == 1:
        return ThreadPoolExecutor(1)
    # Spawned, not forked: forking is unsafe with numpy's threads.
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begun)


def _begun() -> None:
    """Leave Ctrl-C to the parent, and end if the parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
