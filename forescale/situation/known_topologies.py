"""Every topology that an installation knows."""

from functools import lru_cache
from pathlib import Path

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.settings import Settings
from planner.ledger.ledger import Ledger


def known_topologies(settings: Settings, ledger: Ledger) -> dict[str, TopologyConfig | FileError | None]:
    """Every topology that has a file or forecasts, by name: its configuration, why it cannot be read, or None without
    a file.
    """
    known: dict[str, TopologyConfig | FileError | None] = {}
    for path in sorted(settings.topologies.glob("*.yaml")):
        config = _file(path)
        if isinstance(config, FileError):
            known.setdefault(path.stem, config)
        else:
            known[config.topology] = config
    for name in ledger.forecast_topologies():
        known.setdefault(name, None)
    return known


def _file(path: Path) -> TopologyConfig | FileError:
    try:
        written = path.stat()
    except OSError as error:
        return FileError(f"{path}: {error.strerror}")
    try:
        return _as_written(path, written.st_ino, written.st_ctime_ns, written.st_size)
    except FileError as error:
        return error


@lru_cache(maxsize=1024)
def _as_written(path: Path, number: int, changed_ns: int, size: int) -> TopologyConfig:
    """Cached by number, changed_ns and size, so that a page requested again reads only changed files, and those that
    could not be read, as the reason may lie elsewhere. Raises FileError.
    """
    return read_topology_file(path)
