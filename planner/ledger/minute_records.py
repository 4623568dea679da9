"""The ledger's records of the running job's lag: minutes in which it is known, and minutes in violation.

A row holds one hour with a bit per minute, so a minute that is recorded twice counts once.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select

from planner.ledger.database import Records
from planner.ledger.stored_rows import entries_of
from planner.ledger.tables import LagHourTable

MINUTE_S = 60
MINUTES = 60
"""Per hour."""


@dataclass(frozen=True)
class MinuteCount:
    """known: minutes with a known lag; in_violation: those of them with more lag than was allowed then."""

    known: int
    in_violation: int


class MinuteRecords(Records):
    """Minutes in which the lag of the running job is known, and those in violation."""

    def record(self, topology: str, lags_s: Iterable[tuple[datetime, float]], *, max_lag_s: float) -> None:
        """Record the minutes of these moments; a moment between two minutes belongs to the one that ends.

        A minute is in violation, and stays so, if the lag at any of its moments exceeds max_lag_s.
        """
        hours: dict[datetime, tuple[int, int]] = {}
        for at, lag_s in lags_s:
            number, minute = divmod(math.ceil(at.timestamp() / MINUTE_S) - 1, MINUTES)
            hour, bit = _hour(number), 1 << minute
            known, in_violation = hours.get(hour, (0, 0))
            hours[hour] = known | bit, in_violation | (bit if lag_s > max_lag_s else 0)
        if not hours:
            return
        kept = select(LagHourTable).where(
            LagHourTable.topology == topology, LagHourTable.hour.between(min(hours), max(hours))
        )
        with self._database.session() as session:
            self._database.lock(session.connection(), topology)
            rows = {row.hour: row for row in session.scalars(kept)}
            for hour, (known, in_violation) in hours.items():
                if (row := rows.get(hour)) is None:
                    session.add(LagHourTable(topology=topology, hour=hour, known=known, in_violation=in_violation))
                else:
                    row.known |= known
                    row.in_violation |= in_violation

    def count(self, topology: str, start: datetime, end: datetime) -> MinuteCount:
        """Count the minutes from the one that holds `start` to the one before that of `end`."""
        first, last = (int(at.timestamp() // MINUTE_S) for at in (start, end))
        within = select(LagHourTable).where(
            LagHourTable.topology == topology,
            LagHourTable.hour.between(_hour(first // MINUTES), _hour(last // MINUTES)),
        )

        def counted(row: LagHourTable) -> MinuteCount:
            begins = int(row.hour.timestamp()) // MINUTE_S
            bits = _bits(first - begins, last - begins)
            return MinuteCount((row.known & bits).bit_count(), (row.in_violation & bits).bit_count())

        with self._database.session() as session:
            hours = entries_of(self._database, session, within, counted)
        return MinuteCount(sum(hour.known for hour in hours), sum(hour.in_violation for hour in hours))


def _hour(number: int) -> datetime:
    return datetime.fromtimestamp(number * MINUTES * MINUTE_S, UTC)


def _bits(first: int, last: int) -> int:
    """Mask of the minutes [first, last) within the hour."""
    begin, end = (min(MINUTES, max(0, edge)) for edge in (first, last))
    return (1 << end) - (1 << begin) if begin < end else 0
