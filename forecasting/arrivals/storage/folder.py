"""The role behind which the history of a topology lies: few names, whole contents, one of them replaced atomically."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


class Folder(Protocol):
    """Contents under names such as `_manifest.json` and `date=2026-03-02/part-….parquet`.

    All that is added or replaced is durable when the call returns, and readers see it whole or not at all. As text it
    is where it lies, for messages.
    """

    @property
    def shared(self) -> bool:
        """Whether other writers may be at work during one's turn."""

    def place(self, name: str) -> str:
        """Where a name lies, for messages."""

    def read(self, name: str, max_bytes: int) -> bytes:
        """Raises FileNotFoundError, whose filename is the place, and OSError for what is too large or unreadable."""

    def read_version(self, name: str, max_bytes: int) -> tuple[bytes, str]:
        """The same, with the version that `replace` asks for."""

    def modified_at(self, name: str) -> datetime:
        """When it was added or replaced. Raises as read."""

    def new_name(self, stem: str, digest: str) -> str:
        """A name for new content, which ends in `-DIGEST.parquet`. Of a shared folder no name comes twice, so that
        whoever removes an old one cannot hit what is about to be named.
        """

    def add(self, name: str, content: bytes) -> None:
        """Put content under a name that no other content has; it may be there already, whole or damaged."""

    def replace(self, name: str, content: bytes, version: str | None) -> bool:
        """Put content in place of a version (None: where there is nothing yet); False where that is no more there."""

    def names(self, below: str, *, settled: bool = False) -> Iterator[str]:
        """Names in the folders that begin with `below`. settled: without those that a writer at work may have added
        and not named yet.
        """

    def first_name(self, below: str) -> str | None:
        """The first of these names in their order, None where there is none; takes no longer where there are many."""

    def remove(self, names: Iterable[str]) -> None:
        """Names that are gone already are no error. All are gone for good when the call returns."""

    def remove_unfinished(self) -> None:
        """What writers that died left under names of their own. For the one writer at a time."""

    def each(self, make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        """What `make`, which reads, makes of each item, in their order; at once where most of the time is waiting."""

    def turn(self) -> AbstractContextManager[bool]:
        """One's turn to write: alone, unless the folder is shared. Whether the writer before died at work, and may
        have left names that nothing needs.
        """
