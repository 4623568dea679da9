"""Folders that appear whole or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder to write into, which replaces `folder` if the block succeeds.

    See put_in_place.
    """
    aside = _beside(folder, "new")
    try:
        aside.mkdir(parents=True)
        yield aside
        put_in_place(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def put_in_place(aside: Path, folder: Path) -> None:
    """Move a folder of the same file system to `folder`, replacing it if it exists. Raises OSError.

    The existing folder is moved away first, and restored on failure.
    """
    old = _beside(folder, "old")
    if folder.exists():
        folder.rename(old)
    try:
        aside.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path, end: str) -> Path:
    return folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.{end}")
