"""Folders that are there whole or not at all."""

import shutil
import uuid
from pathlib import Path


def put_in_place(aside: Path, folder: Path) -> None:
    """Rename over; a folder that is there is moved away first and put back where that fails."""
    if not folder.exists():
        aside.rename(folder)
        return
    old = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.old")
    folder.rename(old)
    try:
        aside.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
