"""Local time: days and weeks by the wall clock. All handling of clock changes is here.

Arrival series are on a UTC grid. Seasonal models get the same series on the wall-clock grid instead: windows carry
wall-clock times, a skipped hour is missing, and of a repeated hour the second one is used if known.
"""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from forecasting.arrays import Flags, Ints
from forecasting.arrivals.grid import DAY_S, EPOCH
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.errors import CalendarError

_GRID_FROM = datetime(2020, 1, 1, tzinfo=UTC)
"""Reference moment for the phase of the wall-clock grid; it matters if a window is wider than a clock change."""


def zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name. Raises CalendarError for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CalendarError(f"time zone {name!r} is not known; give an IANA name such as Europe/Berlin") from None


def local_days(first: date, last: date, time_zone: ZoneInfo) -> tuple[datetime, datetime]:
    """From the midnight that begins the first day to the one that ends the last, in UTC: 23 to 25 h a day over DST.

    If midnight is skipped, the day begins with the first moment after it.
    """
    end = last + timedelta(days=1) if last < date.max else last
    begin = datetime.combine(first, time(), time_zone)
    return begin.astimezone(UTC), datetime.combine(end, time(), time_zone).astimezone(UTC)


def local_instant(wall: datetime, time_zone: ZoneInfo, *, ends: bool = False) -> datetime:
    """The UTC moment at which clocks of a zone show a naive wall-clock time.

    ends: whether it ends a span: of a repeated time the second is used, otherwise the first. Raises CalendarError for a
    skipped time.
    """
    at = wall.replace(tzinfo=time_zone, fold=1 if ends else 0).astimezone(UTC)
    if at.astimezone(time_zone).replace(tzinfo=None) != wall.replace(fold=0):
        raise CalendarError(
            f"{wall} was skipped by the clocks of {time_zone.key}, which were put forward; give a time before or after"
        )
    return at


def instant_or_change(wall: datetime, time_zone: ZoneInfo, *, ends: bool = False) -> datetime:
    """As local_instant; of a skipped time the UTC moment at which the clocks were put forward."""
    try:
        return local_instant(wall, time_zone, ends=ends)
    except CalendarError:
        # By the offset after the change it is before that.
        before = wall.replace(tzinfo=time_zone, fold=1)
        begins = [at_s for at_s, _ in _changes(time_zone.key, before.astimezone(UTC).year)]
        return datetime.fromtimestamp(min(at_s for at_s in begins if at_s > before.timestamp()), UTC)


def on_the_wall(moment: datetime, timezone: str) -> datetime:
    """Wall-clock time at a moment, as a datetime labelled UTC: a time on the wall-clock grid."""
    return moment.astimezone(zone(timezone)).replace(tzinfo=UTC)


@dataclass(frozen=True)
class WallGrid:
    """Numbered wall-clock windows: window n begins when the clock shows n * window_s + phase_s after 1970.

    If a clock change is not a multiple of a window, UTC windows map to the nearest one.
    """

    timezone: str
    window_s: int
    phase_s: int

    @classmethod
    def of(cls, series: ArrivalSeries, timezone: str) -> "WallGrid":
        offset_s = int(offsets_s(np.array([int(_GRID_FROM.timestamp())]), timezone)[0])
        return cls(timezone, series.window_s, (int(series.start.timestamp()) + offset_s) % series.window_s)

    def numbers(self, start: datetime, count: int) -> Ints:
        """Numbers of `count` UTC windows from start, shape (count,): consecutive except at clock changes."""
        utc_s = int(start.timestamp()) + self.window_s * np.arange(count, dtype=np.int64)
        wall_s = utc_s + offsets_s(utc_s, self.timezone)
        return np.asarray((2 * (wall_s - self.phase_s) + self.window_s) // (2 * self.window_s), dtype=np.int64)

    def start(self, number: int) -> datetime:
        """Wall-clock time at which a window begins, as from on_the_wall."""
        return EPOCH + timedelta(seconds=int(number) * self.window_s + self.phase_s)


def on_wall(series: ArrivalSeries) -> ArrivalSeries:
    """The series on its own wall-clock grid."""
    return series if series.timezone == UTC_NAME else on_wall_grid(series, series.timezone)[0]


def on_wall_grid(series: ArrivalSeries, timezone: str) -> tuple[ArrivalSeries, int]:
    """The series on the wall-clock grid, and the number of the window after its last.

    A skipped hour is missing; of a repeated hour the second one is used if known. If the series ends within the second
    one, the rest of the first is left out.
    """
    grid = WallGrid.of(series, timezone)
    at = grid.numbers(series.start, series.counts.size)
    first, end = int(at.min()), int(at[-1]) + 1
    counts = series.counts
    if (np.diff(at) != 1).any():
        usable = (at < end) & np.isfinite(series.counts)
        counts = np.full(end - first, np.nan)
        # Of several values for a window the last one is kept.
        counts[at[usable] - first] = series.counts[usable]
    return replace(series, start=grid.start(first), counts=counts, timezone=UTC_NAME), end


def windows_before(series: ArrivalSeries, at: int, count: int, season_s: int) -> Ints:
    """Indices of the windows one season before each of `count` windows from index `at`, in the series' local time.

    They may lie before the series (negative). If one has not ended before window `at`, it goes back another season.
    """
    start_s = int(series.start.timestamp())
    indices = at + np.arange(count, dtype=np.int64)
    while (ahead := indices >= at).any():
        then_s = moments_before_s(start_s + indices[ahead] * series.window_s, season_s, series.timezone)
        indices[ahead] = (then_s - start_s) // series.window_s
    return indices


def moments_before_s(utc_s: Ints, season_s: int, timezone: str) -> Ints:
    """Moments with the same wall-clock time one season before, in seconds since 1970; same shape."""
    moved_s = offsets_s(utc_s, timezone) - offsets_s(utc_s - season_s, timezone)
    return np.asarray(utc_s - season_s + moved_s)


def instants_s(times_s: Ints, local: Flags, timezone: str) -> tuple[Ints, int | None]:
    """Moments in seconds since 1970 of times in ascending order, those flagged `local` read off a clock of the zone.

    And the number of the first one that the clock skips, None if there is none. Of a time that the clock shows twice
    the first is meant, or the second if the row before is not earlier.
    """
    # Around a change one of the two is the offset before it, the other the one after it.
    either = [times_s - offsets_s(times_s + apart_s, timezone) for apart_s in (-DAY_S, DAY_S)]
    shown = [moments_s + offsets_s(moments_s, timezone) == times_s for moments_s in either]
    first_s = np.minimum(np.where(shown[0], either[0], either[1]), np.where(shown[1], either[1], either[0]))
    second_s = np.maximum(np.where(shown[0], either[0], either[1]), np.where(shown[1], either[1], either[0]))
    skipped = np.flatnonzero(local & ~shown[0] & ~shown[1])
    moments_s = np.where(local, first_s, times_s)
    for row in np.flatnonzero(local & (first_s < second_s)).tolist():
        if row and moments_s[row] <= moments_s[row - 1]:
            moments_s[row] = second_s[row]
    return moments_s, int(skipped[0]) if skipped.size else None


def offsets_s(utc_s: Ints, timezone: str) -> Ints:
    """UTC offsets in seconds at moments in seconds since 1970; same shape."""
    if timezone == UTC_NAME:
        return np.zeros_like(utc_s)
    # One more year at each end, since local years differ from UTC years.
    years = range(_year(int(utc_s.min())), _year(int(utc_s.max())) + 1)
    changes = [change for year in years for change in _changes(timezone, year)]
    begins, offsets = np.array(changes, dtype=np.int64).T
    return np.asarray(offsets[np.searchsorted(begins, utc_s, side="right") - 1])


def _year(utc_s: int) -> int:
    return datetime.fromtimestamp(utc_s, UTC).year


@lru_cache(maxsize=1024)
def _changes(timezone: str, year: int) -> tuple[tuple[int, int], ...]:
    """Times and new offsets of the changes in a UTC year, in seconds; the first entry holds at its beginning."""
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
