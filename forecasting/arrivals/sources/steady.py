"""The role of sources that show only current values: they must be read and recorded regularly."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from forecasting.arrivals.arrival_source import ArrivalSource


@dataclass(frozen=True)
class Recorded:
    """The result of one reading. line: for people. added: whether it was new; a moment is recorded only once."""

    at: datetime
    line: str
    added: bool


class SteadySource(ArrivalSource, Protocol):
    """Derives arrivals from its recorded readings."""

    def record(self, now: datetime) -> Recorded:
        """Take and store one reading. Raises HistoryError if there is nothing to read; earlier readings stay."""
        ...
