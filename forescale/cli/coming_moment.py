"""Moments ahead as people type them: an ISO time, `09:00`, or `mon 09:00`."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from forecasting.arrivals.grid import typed_moment
from forecasting.errors import HistoryError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_BY_CLOCK = re.compile(r"(?:([a-z]{3})[a-z]*\.?\s+)?(\d{1,2}):(\d{2})", re.IGNORECASE)


def coming_moment(text: str, place: str, now: datetime, timezone: str) -> datetime:
    """The first moment after now at which clocks of the time zone show the given time, on the given weekday if any.
    An ISO time is taken as it is, as one of the time zone if it has no offset. Raises HistoryError that names the
    place.
    """
    found = _BY_CLOCK.fullmatch(text.strip())
    if found is None:
        return typed_moment(text, place, timezone=ZoneInfo(timezone))
    day, hour, minute = (found[1] or "").lower(), int(found[2]), int(found[3])
    if (day and day not in _DAYS) or hour > 23 or minute > 59:
        raise HistoryError(f"{place} {text[:40]!r} is no time; give it like 09:00, mon 09:00 or 2026-03-02T09:00")
    here = now.astimezone(ZoneInfo(timezone))
    at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    ahead = (at + timedelta(days=days) for days in range(8))
    return next(
        moment.astimezone(UTC)
        for moment in ahead
        # Compared in UTC: an hour that occurs twice is two different moments.
        if moment.astimezone(UTC) > now and day in ("", _DAYS[moment.weekday()])
    )
