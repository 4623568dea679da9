"""The role of sources that show what is and keep nothing: somebody has to read them steadily, and write it down."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from forecasting.arrivals.arrival_source import ArrivalSource


@dataclass(frozen=True)
class Recorded:
    """What one reading gave. line: for people. added: whether it was new; the same moment is recorded once."""

    at: datetime
    line: str
    added: bool


class SteadySource(ArrivalSource, Protocol):
    """Tells of arrivals between the readings that were recorded of it."""

    def record(self, now: datetime) -> Recorded:
        """Read once and keep it. Raises HistoryError where there is nothing to read; what was kept stays as it is."""
        ...
