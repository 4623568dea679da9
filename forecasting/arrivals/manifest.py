"""Which part files make up the history of a topology, and how files are put in place so that they outlive a crash."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forecasting.errors import HistoryError

# The underscore hides it from readers of Parquet folders.
_NAME = "_manifest.json"
_FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """window_s: of every window of the topology. parts: date (ISO) to the name of the part file in its folder."""

    window_s: int
    parts: Mapping[str, str]


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest in force, None before the first commit. Raises HistoryError for one that cannot be read."""
    path = folder / _NAME
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["format"] != _FORMAT:
            raise HistoryError(
                f"{path} has format {body['format']!r}, this version reads {_FORMAT}; rebuild the history"
            )
        parts = {str(date): str(part) for date, part in body["parts"].items()}
        return Manifest(int(body["window_s"]), parts)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, HistoryError):
            raise
        raise HistoryError(
            f"{path} is damaged ({type(error).__name__}: {error}); remove {folder} and rebuild the history"
        ) from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put a manifest in force, in one rename."""
    body = {"format": _FORMAT, "window_s": manifest.window_s, "parts": dict(sorted(manifest.parts.items()))}
    write_durably(folder / _NAME, json.dumps(body, indent=1).encode())


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
