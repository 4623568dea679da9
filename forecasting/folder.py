"""Folders that are there whole or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder aside to write into, which takes the place of the folder where the block ends well.

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
    """Let a folder of the same file system take the place of another one, if there is one. Raises OSError.

    What is there is moved away first, and put back where that fails.
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
