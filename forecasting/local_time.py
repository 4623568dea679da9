"""Local time: days and weeks as the clock on the wall shows them. The one home of changes of the clock.

A series of arrivals lies on a grid of UTC. What knows seasons is given the same series on the wall's grid instead: its
windows bear the times that the wall showed, an hour that was skipped is missing, and of one that came twice the second
one stands, where it is known.
"""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from forecasting.arrays import Ints
from forecasting.arrivals.grid import DAY_S, EPOCH
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.errors import CalendarError

_GRID_FROM = datetime(2020, 1, 1, tzinfo=UTC)
"""The wall's grid has the phase that the grid of UTC had then; it matters where a window is wider than a change."""


def zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name. Raises CalendarError for one that is not known."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CalendarError(f"time zone {name!r} is not known; give an IANA name such as Europe/Berlin") from None


def local_days(first: date, last: date, time_zone: ZoneInfo) -> tuple[datetime, datetime]:
    """From the midnight that begins the first day to the one that ends the last, in UTC: 23 to 25 h a day over DST.

    Where midnight is skipped, the day begins with the first moment after it.
    """
    end = last + timedelta(days=1) if last < date.max else last
    begin = datetime.combine(first, time(), time_zone)
    return begin.astimezone(UTC), datetime.combine(end, time(), time_zone).astimezone(UTC)


def local_instant(wall: datetime, time_zone: ZoneInfo, *, ends: bool = False) -> datetime:
    """The moment, in UTC, at which clocks of a zone show a time without a zone of its own.

    ends: whether it ends something: of a time that comes twice the second one is taken, otherwise the first. Raises
    CalendarError for a time that was skipped.
    """
    at = wall.replace(tzinfo=time_zone, fold=1 if ends else 0).astimezone(UTC)
    if at.astimezone(time_zone).replace(tzinfo=None) != wall.replace(fold=0):
        raise CalendarError(
            f"{wall} was skipped by the clocks of {time_zone.key}, which were put forward; give a time before or after"
        )
    return at


def on_the_wall(moment: datetime, timezone: str) -> datetime:
    """What the wall shows at a moment, as a datetime that bears UTC: a time on the wall's grid."""
    return moment.astimezone(zone(timezone)).replace(tzinfo=UTC)


@dataclass(frozen=True)
class WallGrid:
    """The windows of the wall, numbered: window n begins when the wall shows n * window_s + phase_s after 1970.

    Where a change of the clock is no multiple of a window, windows of UTC take the nearest one.
    """

    timezone: str
    window_s: int
    phase_s: int

    @classmethod
    def of(cls, series: ArrivalSeries, timezone: str) -> "WallGrid":
        offset_s = int(offsets_s(np.array([int(_GRID_FROM.timestamp())]), timezone)[0])
        return cls(timezone, series.window_s, (int(series.start.timestamp()) + offset_s) % series.window_s)

    def numbers(self, start: datetime, count: int) -> Ints:
        """Of `count` windows of UTC from start, shape (count,): consecutive but where the clock changes."""
        utc_s = int(start.timestamp()) + self.window_s * np.arange(count, dtype=np.int64)
        wall_s = utc_s + offsets_s(utc_s, self.timezone)
        return np.asarray((2 * (wall_s - self.phase_s) + self.window_s) // (2 * self.window_s), dtype=np.int64)

    def start(self, number: int) -> datetime:
        """What the wall shows when a window begins, as on_the_wall has it."""
        return EPOCH + timedelta(seconds=int(number) * self.window_s + self.phase_s)


def on_wall_grid(series: ArrivalSeries, timezone: str) -> tuple[ArrivalSeries, int]:
    """The series as the wall showed its windows, and the number of the window that follows its last.

    An hour that was skipped is missing; of one that came twice the second one stands where it is known. Where the
    series ends in the second one, what the wall had shown beyond that moment is left out.
    """
    grid = WallGrid.of(series, timezone)
    at = grid.numbers(series.start, series.counts.size)
    first, end = int(at.min()), int(at[-1]) + 1
    counts = series.counts
    if (np.diff(at) != 1).any():
        told = (at < end) & np.isfinite(series.counts)
        counts = np.full(end - first, np.nan)
        # Of values for the same window the last one stands.
        counts[at[told] - first] = series.counts[told]
    return replace(series, start=grid.start(first), counts=counts, timezone=UTC_NAME), end


def windows_before(series: ArrivalSeries, at: int, count: int, season_s: int) -> Ints:
    """Indices of the windows a season before each of `count` windows from index `at`, by the clock of the series.

    They may lie before the series (negative). One that is not over before window `at` goes back another season.
    """
    start_s = int(series.start.timestamp())
    told = at + np.arange(count, dtype=np.int64)
    while (ahead := told >= at).any():
        then_s = moments_before_s(start_s + told[ahead] * series.window_s, season_s, series.timezone)
        told[ahead] = (then_s - start_s) // series.window_s
    return told


def moments_before_s(utc_s: Ints, season_s: int, timezone: str) -> Ints:
    """When the wall showed the same time a season before, in seconds since 1970; same shape."""
    moved_s = offsets_s(utc_s, timezone) - offsets_s(utc_s - season_s, timezone)
    return np.asarray(utc_s - season_s + moved_s)


def offsets_s(utc_s: Ints, timezone: str) -> Ints:
    """By how much the wall is ahead of UTC at moments in seconds since 1970, in seconds; same shape."""
    if timezone == UTC_NAME:
        return np.zeros_like(utc_s)
    # A year more at each end, since a year of the wall is not one of UTC.
    years = range(_year(int(utc_s.min())), _year(int(utc_s.max())) + 1)
    changes = [change for year in years for change in _changes(timezone, year)]
    begins, offsets = np.array(changes, dtype=np.int64).T
    return np.asarray(offsets[np.searchsorted(begins, utc_s, side="right") - 1])


def _year(utc_s: int) -> int:
    return datetime.fromtimestamp(utc_s, UTC).year


@lru_cache(maxsize=1024)
def _changes(timezone: str, year: int) -> tuple[tuple[int, int], ...]:
    """When the offset changes in a year of UTC, and to what, both in seconds; first what holds at its beginning."""
    place = zone(timezone)

    def offset_s(utc_s: int) -> int:
        offset = datetime.fromtimestamp(utc_s, place).utcoffset()
        assert offset is not None
        return int(offset.total_seconds())

    begin, end = (int(datetime(at, 1, 1, tzinfo=UTC).timestamp()) for at in (year, year + 1))
    found = [(begin, offset_s(begin))]
    for day in range(begin, end, DAY_S):
        before, after = day, day + DAY_S
        if offset_s(before) == offset_s(after):
            continue
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset_s(middle) == offset_s(before) else (before, middle)
        if after < end:
            found.append((after, offset_s(after)))
    return tuple(found)
