"""Crash-safe file writes: a file is replaced whole or not at all."""

import os
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Write the file durably before returning; a crash leaves the old content or the new."""
    aside = path.with_name(f".{path.name}.new")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk; otherwise a power failure may lose a rename."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
