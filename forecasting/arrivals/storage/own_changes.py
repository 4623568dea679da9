"""A writer's changes, kept until its commit is in force, since they must be reapplied if another writer is quicker."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.feather

from forecasting.arrivals.arrival_source import DailyKeyCounts


class OwnChanges:
    """Rows and key histograms by day since the epoch; rows are kept in a local temporary folder until `close`."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="forescale-commit-")
        self._histograms: dict[int, Mapping[str, DailyKeyCounts]] = {}

    def keep(self, day: int, rows: pa.Table, histograms: Mapping[str, DailyKeyCounts]) -> None:
        pyarrow.feather.write_feather(rows, str(self._path(day)), compression="lz4")
        self._histograms[day] = histograms

    def __iter__(self) -> Iterator[tuple[int, pa.Table, Mapping[str, DailyKeyCounts]]]:
        for day, histograms in self._histograms.items():
            yield day, pyarrow.feather.read_table(str(self._path(day))), histograms

    def close(self) -> None:
        self._folder.cleanup()

    def _path(self, day: int) -> Path:
        return Path(self._folder.name, f"{day}.arrow")
