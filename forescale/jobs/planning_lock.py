"""Plans of one topology on this machine are made one after the other: the second finds what the first has recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from forescale.files.file_lock import locked
from forescale.settings import Settings

_ALL = ".all.lock"


@contextmanager
def planning_one(settings: Settings, topology: str) -> Iterator[None]:
    """Without it, two plans at once calibrate and register that twice."""
    folder = settings.home / "planning"
    with locked(folder / _ALL, shared=True), locked(folder / f"{quote(topology, safe='')}.lock"):
        yield


@contextmanager
def planning_all(settings: Settings) -> Iterator[None]:
    """One lock for all topologies: a file for each would be more than a process may open."""
    with locked(settings.home / "planning" / _ALL):
        yield
