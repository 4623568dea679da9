"""Whether a process still runs, told without a gap in which it may end."""

import psutil


def alive(process: psutil.Process | int) -> bool:
    """One that has ended and is not waited for yet (a zombie) is not."""
    try:
        found = psutil.Process(process) if isinstance(process, int) else process
        return found.is_running() and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
