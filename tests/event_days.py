"""Whole-day events, and series to which they happened, for the tests of forecasting with events."""

from collections.abc import Mapping
from datetime import timedelta

from arrival_series import MONDAY

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventKind


def day(
    number: float, label: str = "Holiday", kind: EventKind = EventKind.HOLIDAY, ratio: float | None = None
) -> Event:
    """The day that begins so many days after MONDAY."""
    start = MONDAY + timedelta(days=number)
    return Event(kind, label, start, start + timedelta(days=1), ratio=ratio)


def changed(series: ArrivalSeries, days: Mapping[int, float]) -> ArrivalSeries:
    """The series with the counts of some days, by their numbers from its start, multiplied."""
    counts = series.counts.copy()
    per_day = 86400 // series.window_s
    for number, ratio in days.items():
        counts[number * per_day : (number + 1) * per_day] *= ratio
    return ArrivalSeries(series.topology, series.source, series.start, series.window_s, counts)
