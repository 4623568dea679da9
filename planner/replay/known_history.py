"""What was known of a source at a moment of a replay: nothing later, and no outage before it had ended."""

from datetime import datetime, timedelta

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.events.calendar import EventCalendar, EventKind
from forecasting.events.effects import without_outages


def known_at(series: ArrivalSeries, at: datetime, days: int, calendar: EventCalendar) -> ArrivalSeries | None:
    """The history of `days` before a moment, without outages that had ended; None if it has no window."""
    seen = between(series, at - timedelta(days=days), at)
    return None if seen is None else without_outages(seen, known_events(calendar, at))


def known_events(calendar: EventCalendar, at: datetime) -> EventCalendar:
    """Without outages that had not ended by then."""
    return EventCalendar(tuple(each for each in calendar.events if each.kind is not EventKind.OUTAGE or each.end <= at))


def between(series: ArrivalSeries, start: datetime, end: datetime) -> ArrivalSeries | None:
    """The windows in [start, end), None if there are none."""
    try:
        return series.between(max(series.start, start), min(series.end, end))
    except HistoryError:
        return None
