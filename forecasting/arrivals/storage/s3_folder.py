"""The history of a topology in an object store: conditional puts replace the manifest, so no commit is lost.

Several writers may be active on several machines. Each puts parts under new names, then replaces exactly the manifest
version that it read; a late writer is refused and reapplies its change to the newer one. A part that no manifest names
may belong to a crashed or an active writer, so only old ones are removed.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache

from forecasting.arrivals.storage.folder import Item, Made
from forecasting.arrivals.storage.s3_client import CONNECTIONS
from forecasting.arrivals.storage.s3_objects import S3Objects
from forecasting.errors import HistoryStoreError

SETTLED_S = 86_400.0
"""Age from which a part that no manifest names is certainly not needed."""
MAX_COMMIT_S = SETTLED_S / 2
"""Maximum time from the first part until the manifest that names it is in force."""


class S3Folder:
    """See Folder."""

    shared = True

    def __init__(self, objects: S3Objects, name: str) -> None:
        self._objects = objects
        self._name = name
        self._first_added_s: float | None = None

    def __str__(self) -> str:
        return self._objects.place(self._name)

    def place(self, name: str) -> str:
        return f"{self}/{name}"

    def read(self, name: str, max_bytes: int) -> bytes:
        return self.read_version(name, max_bytes)[0]

    def read_version(self, name: str, max_bytes: int) -> tuple[bytes, str]:
        return self._objects.get(self._key(name), max_bytes)

    def check_stored(self, name: str, content: bytes) -> None:
        self._objects.check_stored(self._key(name), content)

    def modified_at(self, name: str) -> datetime:
        return self._objects.modified_at(self._key(name))

    def new_name(self, stem: str, digest: str) -> str:
        return f"{stem}-{uuid.uuid4().hex[:12]}-{digest}.parquet"

    def add(self, name: str, content: bytes) -> None:
        if self._first_added_s is None:
            self._first_added_s = time.time()
        self._objects.put(self._key(name), content)

    def replace(self, name: str, content: bytes, version: str | None) -> bool:
        if self._first_added_s is not None and time.time() - self._first_added_s > MAX_COMMIT_S:
            raise HistoryStoreError(
                f"history in {self}: the commit took longer than {MAX_COMMIT_S / 3600:g} hours, and soon its first "
                "parts may be removed; build a shorter interval at a time"
            )
        if version is None:
            return self._objects.put(self._key(name), content, IfNoneMatch="*")
        return self._objects.put(self._key(name), content, IfMatch=version)

    def names(self, below: str, *, settled: bool = False) -> Iterator[str]:
        names = self._objects.names(self._key(below), older_than_s=SETTLED_S if settled else 0.0)
        return (name.removeprefix(self._key("")) for name in names)

    def first_name(self, below: str) -> str | None:
        names = self._objects.names(self._key(below), at_once=1)
        return next((name.removeprefix(self._key("")) for name in names), None)

    def remove(self, names: Iterable[str]) -> None:
        for _ in self.each(lambda name: self._objects.remove(self._key(name)), names):
            pass

    def remove_unfinished(self) -> None:
        """Does nothing: an object is stored whole or not at all."""

    def each(self, make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            yield from pool.map(make, items)

    @contextmanager
    def turn(self) -> Iterator[bool]:
        _checked_once(os.getpid(), self._objects)
        yield False

    def _key(self, name: str) -> str:
        return f"{self._name}/{name}"


@lru_cache(maxsize=8)
def _checked_once(process: int, objects: S3Objects) -> None:
    objects.check_conditional_puts()
