"""The layout of a topology's history: `DIR/topology=NAME/date=YYYY-MM-DD/`, in a folder or an object store."""

import re
from datetime import datetime
from pathlib import Path

import numpy as np

from forecasting.arrivals.grid import DAY_S, SECOND_US, to_us
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.local_folder import LocalFolder
from forecasting.arrivals.storage.manifest import MANIFEST
from forecasting.errors import HistoryError

DAY_US = DAY_S * SECOND_US
_TOPOLOGY = "topology="
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def topology_folder(directory: Directory, topology: str) -> Folder:
    if not _NAME.fullmatch(topology):
        raise HistoryError(f"topology name {topology!r} cannot name a folder; use letters, digits, '_', '.' and '-'")
    name = f"{_TOPOLOGY}{topology}"
    if isinstance(directory, Path):
        return LocalFolder(directory / name)
    from forecasting.arrivals.storage.s3_folder import S3Folder
    from forecasting.arrivals.storage.s3_objects import S3Objects

    return S3Folder(S3Objects(directory), name)


def topologies(directory: Directory) -> list[str]:
    """Names of the topologies that have a history."""
    if isinstance(directory, Path):
        folders = [path.parent.name for path in directory.glob(f"{_TOPOLOGY}*/{MANIFEST}")]
    else:
        from forecasting.arrivals.storage.s3_objects import S3Objects

        objects = S3Objects(directory)
        folders = [name for name in objects.folders(_TOPOLOGY) if any(objects.names(f"{name}/{MANIFEST}", at_once=1))]
    return sorted(folder.removeprefix(_TOPOLOGY) for folder in folders)


def days_of(start: datetime, end: datetime) -> range:
    """Days since the epoch on which windows of [start, end) start."""
    return range(to_us(start) // DAY_US, (to_us(end) - 1) // DAY_US + 1)


def iso_date(day: int) -> str:
    return str(np.datetime64(day, "D"))
