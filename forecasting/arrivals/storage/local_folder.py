"""The history of a topology in a local folder: renames are atomic, and a lock admits one writer at a time."""

import fcntl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from forecasting.arrivals.storage.durable_files import sync_folder, write_durably
from forecasting.arrivals.storage.folder import Item, Made
from forecasting.bounded_file import bounded_bytes
from forecasting.errors import HistoryError


class LocalFolder:
    """See Folder. Each file is on disk before another file depends on it."""

    shared = False

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def place(self, name: str) -> str:
        return str(self._path / name)

    def read(self, name: str, max_bytes: int) -> bytes:
        return bounded_bytes(self._path / name, max_bytes)

    def read_version(self, name: str, max_bytes: int) -> tuple[bytes, str]:
        return self.read(name, max_bytes), ""  # the turn is exclusive

    def check_stored(self, name: str, content: bytes) -> None:
        try:
            same = self.read(name, max(len(content), 1)) == content
        except OSError:
            same = False
        if not same:
            raise HistoryError(f"{self.place(name)} changed while it was read; see what else writes there")

    def modified_at(self, name: str) -> datetime:
        return datetime.fromtimestamp((self._path / name).stat().st_mtime, UTC)

    def new_name(self, stem: str, digest: str) -> str:
        return f"{stem}-{digest}.parquet"

    def add(self, name: str, content: bytes) -> None:
        path = self._path / name
        if not path.parent.exists():
            path.parent.mkdir()
            sync_folder(path.parent.parent)
        elif path.exists() and path.read_bytes() == content:
            # A killed writer may have left it there, before its name was on disk.
            sync_folder(path.parent)
            return
        write_durably(path, content)

    def replace(self, name: str, content: bytes, version: str | None) -> bool:
        write_durably(self._path / name, content)
        return True

    def names(self, below: str, *, settled: bool = False) -> Iterator[str]:
        return (f"{path.parent.name}/{path.name}" for path in self._path.glob(f"{below}*/*"))

    def first_name(self, below: str) -> str | None:
        return min(self.names(below), default=None)

    def remove(self, names: Iterable[str]) -> None:
        paths = [self._path / name for name in names]
        for path in paths:
            path.unlink(missing_ok=True)
        for folder in {path.parent for path in paths}:
            if folder.exists():
                sync_folder(folder)

    def remove_unfinished(self) -> None:
        for path in [*self._path.glob(".*.new"), *self._path.glob("*/.*.new")]:
            path.unlink(missing_ok=True)

    def each(self, make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        return map(make, items)

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """The lock file is not empty while a writer is active, so it shows whether the previous writer crashed."""
        self._path.mkdir(parents=True, exist_ok=True)
        sync_folder(self._path.parent)
        with (self._path / "_lock").open("a+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.seek(0)
            writer_died = bool(lock.read(1))
            if not writer_died:
                lock.write(b"a writer is at work, or died at it\n")
                lock.flush()
            yield writer_died
            lock.truncate(0)
