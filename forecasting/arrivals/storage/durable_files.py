"""Files put in place so that they outlive a crash: whole, or not at all."""

import os
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Make the file hold the content, on disk before this returns; a crash leaves the old content or the new."""
    aside = path.with_name(f".{path.name}.new")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk: without it a rename may be lost with the power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
