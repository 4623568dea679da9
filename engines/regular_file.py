"""Opens files of people and other tools within bounds: only regular files of bounded size.

A pipe would block forever, and a device would never end.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO

MAX_SECRET_BYTES = 4 << 20
"""Limit for settings, certificates, keys and a kubeconfig: bundles of certificates are below 1 MiB."""


def check_regular(path: Path, max_bytes: int) -> None:
    """Raises OSError unless the path is a regular file of at most max_bytes."""
    opened_regular(path, max_bytes).close()


def opened_regular(path: Path, max_bytes: int) -> IO[bytes]:
    """The opened file. Raises OSError unless it is a regular file of at most max_bytes."""
    # Without O_NONBLOCK, opening a pipe would block until somebody writes to it.
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115 - a descriptor
    try:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is a pipe, a socket or a device; give a regular file", str(path))
        if status.st_size > max_bytes:
            raise too_large(path, max_bytes)
    except BaseException:
        file.close()
        raise
    return file


def too_large(place: Path | str, max_bytes: int) -> OSError:
    """The error for more than max_bytes in that place."""
    return OSError(errno.EFBIG, f"it holds more than {max_bytes >> 20} MiB, the maximum; give less", str(place))
