"""The sources that a topology's history knows; one without new data is missing, not dropped."""

from collections.abc import Mapping
from datetime import date, datetime

from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.layout import days_of, iso_date, topology_folder
from forecasting.arrivals.storage.manifest import read_manifest
from forecasting.arrivals.storage.parts import read_part
from forecasting.errors import HistoryError, HistoryStoreError


def known_sources(directory: Directory, topology: str, start: datetime, end: datetime) -> Mapping[date, frozenset[str]]:
    """The sources with rows on each stored date of [start, end), and on the last date before.

    A date whose file is damaged or missing is left out, so that rebuilding repairs it. Raises HistoryStoreError.
    """
    folder = topology_folder(directory, topology)
    manifest = read_manifest(folder)
    if manifest is None:
        return {}
    days = days_of(start, end)
    first, last = iso_date(days[0]), iso_date(days[-1])
    before = max((held for held in manifest.parts if held < first), default=None)
    found = {}
    for held in manifest.parts:
        if held == before or first <= held <= last:
            try:
                rows = read_part(folder, manifest.part(held), ["source"])
            except HistoryStoreError:
                raise
            except FileNotFoundError:
                if read_manifest(folder) != manifest:  # another writer has superseded and removed it
                    return known_sources(directory, topology, start, end)
                continue
            except HistoryError:
                continue
            found[date.fromisoformat(held)] = frozenset(rows["source"].unique().to_pylist())
    return found
