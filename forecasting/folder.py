"""Folders that are there whole or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder aside to write into, which takes the place of the folder where the block ends well.

    A folder that is there is moved away first, and put back where that fails.
    """
    aside, old = (folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.{end}") for end in ("new", "old"))
    try:
        aside.mkdir(parents=True)
        yield aside
        if folder.exists():
            folder.rename(old)
        try:
            aside.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
