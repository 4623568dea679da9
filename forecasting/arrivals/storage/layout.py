"""Where the history of a topology lies: `DIR/topology=NAME/date=YYYY-MM-DD/`."""

import re
from datetime import datetime
from pathlib import Path

import numpy as np

from forecasting.arrivals.grid import DAY_S, SECOND_US, to_us
from forecasting.arrivals.storage.manifest import MANIFEST
from forecasting.errors import HistoryError

DAY_US = DAY_S * SECOND_US
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def topology_folder(directory: Path, topology: str) -> Path:
    if not _NAME.fullmatch(topology):
        raise HistoryError(f"topology name {topology!r} cannot name a folder; use letters, digits, '_', '.' and '-'")
    return directory / f"topology={topology}"


def topologies(directory: Path) -> list[str]:
    """Names of the topologies that have a history."""
    return sorted(path.parent.name.removeprefix("topology=") for path in directory.glob(f"topology=*/{MANIFEST}"))


def days_of(start: datetime, end: datetime) -> range:
    """Days since the epoch on which windows of [start, end) start."""
    return range(to_us(start) // DAY_US, (to_us(end) - 1) // DAY_US + 1)


def iso_date(day: int) -> str:
    return str(np.datetime64(day, "D"))
