"""Atomic writing of text files: a reader sees the old file or the new one, never half of it."""

import errno
import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_whole(text: str, path: Path, *, anew: bool = False, mode: int = 0o644) -> Path:
    """Write a temporary file of a unique name beside it and rename it, so that writers do not collide; the last wins.

    anew: only if no such file exists, else FileExistsError. Raises OSError, also if the path is not a regular file:
    replacing a device or a pipe would destroy it.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, suffix=".part", delete=False) as part:
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


def check_replaceable(path: Path) -> None:
    """Raises OSError if the path exists and is not a regular file."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it", str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket; name a regular file", str(path))
