"""Processes that work beside each other, and end with the one that began them."""

import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait


def worker_processes(count: int) -> Executor:
    """A single one is a thread of this process."""
    if count == 1:
        return ThreadPoolExecutor(1)
    # Spawned: threads of numpy and a fork do not go together.
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begun)


def _begun() -> None:
    """Ctrl-C is the parent's to handle; where that was killed, nobody waits for what is done here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
