"""Atomic writing of text files: a reader sees the old file or the new one, never half of it."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

PREFIX, SUFFIX = ".writing-", ".part"


def write_whole(text: str, path: Path, *, anew: bool = False, mode: int = 0o644) -> Path:
    """Write a temporary file of a unique name beside it and rename it, so that writers do not collide; the last wins.

    Temporary files that killed writers left in the folder are removed.
    anew: only if no such file exists, else FileExistsError. Raises OSError, also if the path is not a regular file:
    replacing a device or a pipe would destroy it.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent)
    with _locked_part(path.parent) as part:
        try:
            part.write(text)
            part.flush()
            os.fsync(part.fileno())
            Path(part.name).chmod(mode)
            if anew:
                path.hardlink_to(part.name)
                Path(part.name).unlink()
            else:
                Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    return path


@contextmanager
def _locked_part(folder: Path) -> Iterator[IO[str]]:
    """A new temporary file whose lock says that its writer lives."""
    while True:
        with NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=folder, prefix=PREFIX, suffix=SUFFIX, delete=False
        ) as part:
            with suppress(OSError):  # a file system without locks: no writer there removes what another left
                fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if Path(part.name).exists():  # else another writer swept it before it was locked
                yield part
                return


def _sweep(folder: Path) -> None:
    """Remove temporary files that no process has locked: their writers were killed."""
    for left in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError), left.open("rb") as part:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def check_replaceable(path: Path) -> None:
    """Raises OSError if the path exists and is not a regular file."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it", str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket; name a regular file", str(path))
