"""The grid of windows: whole microseconds since the epoch, window edges at multiples of the window."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from forecasting.errors import HistoryError

SECOND_US = 1_000_000
DAY_S = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2201, 1, 1, tzinfo=UTC)
"""Times from clocks and files must lie between the two, so that sums of times stay within the calendar."""


def to_us(moment: datetime) -> int:
    """Microseconds since the epoch, exactly. Raises HistoryError for a time without a zone."""
    if moment.tzinfo is None:
        raise HistoryError(f"time {moment} has no time zone; give it in UTC")
    return (moment - EPOCH) // timedelta(microseconds=1)


def in_calendar(moment: datetime) -> datetime:
    """The moment. Raises ValueError for one without a zone, before 1970 or after 2200."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone; give it in UTC")
    if not EPOCH <= moment < LATEST:
        raise ValueError(f"{moment} is not between {EPOCH.year} and {LATEST.year - 1}; correct it")
    return moment


def typed_moment(
    text: str, place: str, failure: Callable[[str], Exception] = HistoryError, timezone: tzinfo = UTC
) -> datetime:
    """An ISO time as people type it; one without an offset is of the time zone. Raises a failure that names the
    place.
    """
    try:
        parsed = datetime.fromisoformat(text)
        # A time at either end of the calendar may be out of range in UTC.
        moment = (parsed.replace(tzinfo=timezone) if parsed.tzinfo is None else parsed).astimezone(UTC)
    except (ValueError, OverflowError):
        raise failure(f"{place} {text[:40]!r} is no ISO time; give it like 2026-03-01T06:45:00Z") from None
    try:
        return in_calendar(moment)
    except ValueError as error:
        raise failure(f"{place} {error}") from None


def from_us(moment_us: int) -> datetime:
    return EPOCH + timedelta(microseconds=int(moment_us))


def whole_windows(start: datetime, end: datetime, window_s: int) -> tuple[datetime, datetime]:
    """The interval as whole windows: from the one containing start to the last that has ended by `end`.

    A window still running at `end` is left out, since its count is incomplete. Raises HistoryError if none has ended.
    """
    if window_s <= 0:
        raise HistoryError(f"window of {window_s} s; give a positive number of seconds")
    width_us = window_s * SECOND_US
    first_us, last_us = (to_us(moment) // width_us * width_us for moment in (start, end))
    if last_us <= first_us:
        raise HistoryError(f"no window of {window_s} s is over between {start} and {end}; give a longer interval")
    return from_us(first_us), from_us(last_us)
