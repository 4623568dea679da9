"""What days of the calendar did before the weeks that forecasters learn from.

A holiday comes once a year and a billing run once a month; eight weeks show neither twice. So each local day of the
kept history is compared with the same weekdays of the four weeks before and after it. A declared event of whole days
thereby has an expected ratio from earlier years. Days of the month, and those from Christmas to New Year, become events
of themselves where they stand out from ordinary days; elsewhere nothing is added.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from forecasting.arrays import Flags, Floats, Ints
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.events.calendar import MAX_RATIO, Event, EventCalendar, EventKind
from forecasting.events.effects import MIN_RATIO, Occurrence, expected_ratio
from forecasting.local_time import local_days, on_the_wall, on_wall_grid, zone
from forecasting.models.time_grid import DAY_S, newest

YEARS_END = "Christmas to New Year"
MIN_YEARS_END = 5
"""Of its nine days, those that must be known, and no holidays."""
MAX_DAYS = 1200
"""Three Christmases, with the weeks before the first."""
MIN_SEEN = 0.9
"""Of a day: with less of it known, its total is unknown."""
WEEKS, MIN_WEEKS = (-4, -3, -2, -1, 1, 2, 3, 4), 3
"""Weeks away from a day whose same weekdays it is compared with, and how many of these must be known."""
NEWEST = 6
"""Occurrences that a day of the month is judged by: one that ended is forgotten after two months."""
MIN_OCCURRENCES = 2
MOST = 0.75
"""Share of the occurrences that must stand out alike, so that neither chance nor one event makes a habit."""
SIGMAS = 5.0
"""By how many standard deviations the mean of so many ordinary days would be off; of 31 candidates none is by chance.
"""
YEARS_END_SIGMAS = 2.5
"""One candidate, expected beforehand, that is seen once or twice."""
MIN_LOG_RATIO = math.log(1.25)
"""Smaller effects are left to the forecasters' own errors."""
P90 = 1.645
"""Of the size of a normal error, in standard deviations."""
EVENT_SPREAD = 0.5
"""Standard deviation of events' log ratios: an occurrence counts less the more ordinary days vary beside it."""


@dataclass(frozen=True)
class PastDays:
    """calendar: of what forecasters know. added: those of its events that were found, not declared.

    Whether days stand out is decided by all that are known, also those that a backtest forecasts; a ratio never is.
    """

    calendar: EventCalendar
    added: tuple[Event, ...] = ()


def with_past_days(calendar: EventCalendar, known: ArrivalSeries, start: datetime, until: datetime) -> PastDays:
    """The calendar of a source between start and until, with what earlier days say of these.

    calendar: also of the past, and to the end of the month. known: the source's whole history, without outages. start:
    of the part of it that forecasters learn from, and learn the effects of its events from; ratios are those of the
    days before it.
    """
    wanted = calendar.between(start, until)
    if DAY_S % known.window_s:
        return PastDays(wanted)
    record = _DayRecord(known, until, calendar)
    before, seen = record.number_of(start), record.seen(calendar, start)
    added: list[Event] = []
    for label, days in record.standing_out().items():
        ratio = record.ratio(days, label, before)
        added += [replace(event, ratio=ratio) for event in record.events(label, days)]
    found = EventCalendar(tuple(added)).between(start, until).events
    return PastDays(EventCalendar((*(_expecting(event, seen) for event in wanted.events), *found)), found)


def _expecting(event: Event, seen: Mapping[Event, Occurrence]) -> Event:
    """The event with the ratio that its like had before; unchanged if it has one or there were none."""
    if event.ratio is not None or event.kind is EventKind.OUTAGE:
        return event
    alike = any(other.label == event.label or other.kind is event.kind is not EventKind.OTHER for other in seen)
    return replace(event, ratio=round(min(expected_ratio(event, seen), MAX_RATIO), 4)) if alike else event


class _DayRecord:
    """Local days from the first one known to the last one wanted, by number.

    log_ratio: of each day's arrivals to those of the same weekdays around it, NaN if unknown. declared: whether an
    event covers most of it. Both have shape (days,).
    """

    def __init__(self, known: ArrivalSeries, until: datetime, calendar: EventCalendar) -> None:
        recent = newest(known, MAX_DAYS * DAY_S // known.window_s)
        self.timezone = known.timezone
        wall = recent if self.timezone == UTC_NAME else on_wall_grid(recent, self.timezone)[0]
        self.first = wall.start.date()
        totals = _daily_totals(wall)
        # Whole months, so that their last days are known as such.
        end = np.datetime64(on_the_wall(max(known.end, until), self.timezone).date(), "M") + 1
        self.dates = np.arange(np.datetime64(self.first), end.astype("datetime64[D]"))
        self.declared, self.holiday = np.zeros((2, self.dates.size), dtype=np.bool_)
        for event in calendar.events:
            days = self._days_of(event)
            self.declared[days] = True
            self.holiday[days] |= event.kind is EventKind.HOLIDAY
        months = self.dates.astype("datetime64[M]")
        self.day_of_month = (self.dates - months.astype("datetime64[D]")).astype(int) + 1
        self.month = months.astype(int) % 12 + 1
        self.years_end = ((self.month == 12) & (self.day_of_month >= 24)) | (
            (self.month == 1) & (self.day_of_month == 1)
        )
        self.log_ratio = np.full(self.dates.size, np.nan)
        self.log_ratio[: totals.size] = _log_ratios(totals, (self.declared | self.years_end)[: totals.size])

    def number_of(self, moment: datetime) -> int:
        return (on_the_wall(moment, self.timezone).date() - self.first).days

    def _days_of(self, event: Event) -> slice:
        """Days of which the event covers more than half; empty for a shorter one."""
        half = timedelta(seconds=DAY_S / 2)
        return slice(max(0, self.number_of(event.start + half)), max(0, self.number_of(event.end - half) + 1))

    def seen(self, calendar: EventCalendar, before: datetime) -> dict[Event, Occurrence]:
        """The events of whole days that had ended before a moment."""
        weight = EVENT_SPREAD**2 / (EVENT_SPREAD**2 + self._sigma(~self.declared) ** 2)
        of = {}
        for event in calendar.events:
            if event.end <= before and event.kind is not EventKind.OUTAGE:
                values = self.log_ratio[self._days_of(event)]
                if np.isfinite(values).any():
                    of[event] = Occurrence(float(np.nanmean(values)), weight)
        return of

    def standing_out(self) -> dict[str, Flags]:
        """Days of the month, and of the year's end, that are no ordinary days; by label, shape (days,)."""
        found: dict[str, Flags] = {}
        ordinary = ~self.declared & ~self.years_end
        candidates = self._days_of_the_month()
        while candidates:
            scores = {label: self._score(days & ordinary, ordinary & ~days) for label, days in candidates.items()}
            label = max(scores, key=lambda one: scores[one])
            if scores[label] <= 0:
                break
            found[label] = candidates.pop(label)
            ordinary = ordinary & ~found[label]
        _, years = self._years_ends()
        if years.size:
            bound = YEARS_END_SIGMAS * self._sigma(ordinary) / math.sqrt(years.size)
            if abs(years.mean()) >= max(MIN_LOG_RATIO, bound):
                found[YEARS_END] = self.years_end & ~self.declared
        return found

    def ratio(self, days: Flags, label: str, before: int) -> float | None:
        """The mean ratio of the occurrences that began before a day, None without any.

        A smaller load than usual is steadied by one usual occurrence; a larger one is not, as too low costs more.
        """
        if label == YEARS_END:
            at, values = self._years_ends()
        else:
            at = np.flatnonzero(days & ~self.declared & ~self.years_end & np.isfinite(self.log_ratio))
            values = self.log_ratio[at]
        values = values[at < before][-NEWEST:]
        if not values.size:
            return None
        total = float(values.sum())
        ratio = math.exp(total / (values.size + (total < 0)))
        return round(min(max(ratio, MIN_RATIO), MAX_RATIO), 4)

    def events(self, label: str, days: Flags) -> list[Event]:
        """An event for each run of days."""
        where = zone(self.timezone)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], days, [False]]).astype(int)))
        spans = (local_days(self._date(first), self._date(end - 1), where) for first, end in edges.reshape(-1, 2))
        return [Event(EventKind.OTHER, label, start, end) for start, end in spans]

    def _date(self, number: int) -> date:
        return self.first + timedelta(days=int(number))

    def _days_of_the_month(self) -> dict[str, Flags]:
        """By label; of those with the same days so far, the first is taken."""
        last = np.append(self.day_of_month[1:] == 1, True)
        working = np.is_busday(self.dates) & ~self.holiday
        return {
            "first working day of the month": _first_since(working, self.day_of_month == 1),
            "last working day of the month": _first_since(working[::-1], last[::-1])[::-1],
            "last day of the month": last,
            **{f"day {number} of the month": self.day_of_month == number for number in range(1, 29)},
        }

    def _years_ends(self) -> tuple[Ints, Floats]:
        """Number of the first day and mean log ratio of each end of a year that is known well enough."""
        at = np.flatnonzero(self.years_end & ~self.declared & np.isfinite(self.log_ratio))
        parts = [part for part in np.split(at, np.flatnonzero(np.diff(at) > 31) + 1) if part.size >= MIN_YEARS_END]
        means = np.array([self.log_ratio[part].mean() for part in parts])
        return np.array([part[0] for part in parts], dtype=np.int64), means

    def _score(self, days: Flags, ordinary: Flags) -> float:
        """How far its newest occurrences lie off on average; 0 if they do not stand out."""
        values = self.log_ratio[days & np.isfinite(self.log_ratio)][-NEWEST:]
        if values.size < MIN_OCCURRENCES:
            return 0.0
        outward = np.sort(values * np.sign(np.median(values)))
        least = float(outward[values.size - math.ceil(MOST * values.size)])
        if least < MIN_LOG_RATIO or least < SIGMAS * self._sigma(ordinary) / math.sqrt(values.size):
            return 0.0
        return float(outward.mean())

    def _sigma(self, ordinary: Flags) -> float:
        """Standard deviation of the log ratio of these days, robust; infinite if none is known."""
        sizes = np.abs(self.log_ratio[ordinary & np.isfinite(self.log_ratio)])
        return float(np.quantile(sizes, 0.9)) / P90 if sizes.size else math.inf


def _first_since(chosen: Flags, begins: Flags) -> Flags:
    """The first chosen day since each beginning, shape (days,); none before the first beginning."""
    part = np.cumsum(begins)
    at = np.flatnonzero(chosen & (part > 0))
    first = np.zeros(chosen.size, dtype=np.bool_)
    first[at[np.unique(part[at], return_index=True)[1]]] = True
    return first


def _daily_totals(wall: ArrivalSeries) -> Floats:
    """Arrivals by day of a series on the wall clock, scaled to whole days; NaN where too little is known."""
    midnight = datetime(wall.start.year, wall.start.month, wall.start.day, tzinfo=UTC)
    lead = int((wall.start - midnight).total_seconds() // wall.window_s)
    per_day = DAY_S // wall.window_s
    days = -(-(lead + wall.counts.size) // per_day)
    counts = np.full(days * per_day, np.nan)
    counts[lead : lead + wall.counts.size] = wall.counts
    known = np.isfinite(counts).reshape(days, per_day)
    sums, seen = np.where(known, counts.reshape(days, per_day), 0.0).sum(axis=1), known.mean(axis=1)
    return np.asarray(np.divide(sums, seen, out=np.full(days, np.nan), where=seen >= MIN_SEEN))


def _log_ratios(totals: Floats, apart: Flags) -> Floats:
    """Log ratio of each day's total to the median of its neighbours' that are not apart, shape (days,)."""
    reach = 7 * max(WEEKS)
    usable = np.concatenate([np.full(reach, np.nan), np.where(apart, np.nan, totals), np.full(reach, np.nan)])
    around = np.sort([usable[reach + 7 * week : reach + 7 * week + totals.size] for week in WEEKS], axis=0)
    seen = np.isfinite(around).sum(axis=0)
    every = np.arange(totals.size)
    middle = around[np.maximum(seen - 1, 0) // 2, every], around[seen // 2, every]
    known = totals[np.isfinite(totals)]
    floor = max(1.0, 0.01 * float(np.median(known))) if known.size else 1.0
    return np.where(seen >= MIN_WEEKS, np.log((totals + floor) / (sum(middle) / 2 + floor)), np.nan)
