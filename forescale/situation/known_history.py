"""The arrival history of a topology, read once: later spans are cut from the widest that was read."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from forecasting.arrivals.history import ArrivalHistory
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError


@dataclass
class KnownHistory:
    """Days are by UTC, not by local clocks. One answer uses one: what is built meanwhile is not seen."""

    directory: Directory
    topology: str
    _read: tuple[datetime, datetime, ArrivalHistory] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> tuple[type["KnownHistory"], tuple[Directory, str]]:
        """Another process reads for itself."""
        return KnownHistory, (self.directory, self.topology)

    def reach(self, start: datetime, end: datetime) -> None:
        """Read this span now, if there is anything in it, so that later ones are cut from it."""
        with suppress(HistoryError):
            self.between(start, end)

    def between(self, start: datetime, end: datetime) -> ArrivalHistory:
        """The windows that lie wholly in [start, end), of the sources that have any. Raises HistoryError if there are
        none, as `read_history` does.
        """
        if self._read is None or not self._read[0] <= start <= end <= self._read[1]:
            self._read = start, end, read_history(self.directory, self.topology, start=start, end=end)
        first, last, whole = self._read
        return whole if (first, last) == (start, end) else _cut(whole, start, end)


def _cut(history: ArrivalHistory, start: datetime, end: datetime) -> ArrivalHistory:
    within = {}
    for source, series in history.series.items():
        try:
            within[source] = series.between(start, end)
        except HistoryError:
            continue
    if not within:
        raise HistoryError(f"history of topology {history.topology!r} has no whole window between {start} and {end}")
    return replace(history, series=within)
