"""The storage role of a topology's history: few names, whole contents, one of them replaced atomically."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


class Folder(Protocol):
    """Contents under names such as `_manifest.json` and `date=2026-03-02/part-….parquet`.

    Added or replaced content is durable when the call returns, and readers see it whole or not at all. str() gives the
    location, for messages.
    """

    @property
    def shared(self) -> bool:
        """Whether other writers may be active during a turn."""

    def place(self, name: str) -> str:
        """Location of a name, for messages."""

    def read(self, name: str, max_bytes: int) -> bytes:
        """Raises FileNotFoundError, whose filename is the place, and OSError for too large or unreadable content."""

    def read_version(self, name: str, max_bytes: int) -> tuple[bytes, str]:
        """Like read, with the version that `replace` takes."""

    def check_stored(self, name: str, content: bytes) -> None:
        """Raises HistoryError unless this content, which cannot be used, is read there once more: no
        remedy asks to remove what may be whole.
        """

    def modified_at(self, name: str) -> datetime:
        """When it was added or replaced. Raises as read."""

    def new_name(self, stem: str, digest: str) -> str:
        """A name for new content, ending in `-DIGEST.parquet`. In a shared folder names are never reused, so that
        removing an old name cannot delete new content.
        """

    def add(self, name: str, content: bytes) -> None:
        """Store content under a name used by no other content; it may already exist, whole or damaged."""

    def replace(self, name: str, content: bytes, version: str | None) -> bool:
        """Replace a version (None: nothing yet) by content; False if that version is no longer there."""

    def names(self, below: str, *, settled: bool = False) -> Iterator[str]:
        """Names in the folders that begin with `below`. settled: without recent ones that an active writer may not have
        committed yet.
        """

    def first_name(self, below: str) -> str | None:
        """The first of these names in order, None if there is none; as fast for many names as for few."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove names durably before returning. Missing names are not an error."""

    def remove_unfinished(self) -> None:
        """Remove temporary names left by crashed writers. Only for the single writer holding the turn."""

    def each(self, make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """Results of `make`, which reads, for each item in order; concurrent if reading is mostly waiting."""

    def turn(self) -> AbstractContextManager[bool]:
        """A turn to write, exclusive unless the folder is shared. Yields whether the previous writer crashed and may
        have left unneeded names.
        """
