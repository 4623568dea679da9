"""How much an event raises or lowers the load of one source, learnt from that source's own past.

An occurrence of an event is held against the usual week, fitted with all events left out: its log ratio is what came
over what was usual. An event to come takes the mean of the occurrences with its label, steadied by one occurrence's
worth of what was expected of it beforehand: the declared ratio, else what other events of its kind did, steadied alike,
else nothing. One occurrence then counts for a half, two for two thirds, n for n/(n+1). That is the best linear estimate
where an event differs from one time to the next as much as events differ from each other: the most that can be assumed
of what happened once or twice. An event that was seen keeps its own ratio, as far as it was seen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Flags, Floats
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.events.calendar import LARGEST_RATIO, Event, EventCalendar, EventKind
from forecasting.local_time import on_the_wall, on_wall_grid
from forecasting.models.open_hours import OpenHours, learn_open_hours
from forecasting.models.slow_level import WeeklyLevel
from forecasting.models.time_grid import DAY_S, windows_per_day
from forecasting.models.transform import SQRT
from forecasting.models.weekly_profile import weekly_profile

LEAST_RATIO = 0.01
"""What an event to which nothing came is taken for: its logarithm is finite."""
NEAR_NOTHING = 0.1
"""Windows with less of the usual load than this say nothing of it: divided by so little, chance would rule them."""
STEADYING_EVENTS = 20.0
"""An occurrence in which so many events (tuples) were to be expected counts for half a one."""
KINDRED = 0.5
"""What another label of the kind did counts for half of what the label itself did: not every holiday is a Christmas."""
AROUND_S = 4 * DAY_S
BURST = 3.0


@dataclass(frozen=True)
class KnownEffect:
    """Load in [start, end) divided by usual load."""

    start: datetime
    end: datetime
    ratio: float


@dataclass(frozen=True)
class EventEffects:
    """What the events of one source do, past and to come. outages: spans of which the history says nothing."""

    effects: tuple[KnownEffect, ...]
    outages: tuple[tuple[datetime, datetime], ...] = ()

    def ratios(self, start: datetime, window_s: int, count: int) -> Floats:
        """Load divided by usual load in each of `count` windows from start, from 0 to LARGEST_RATIO; shape (count,).

        Events that overlap multiply; a window that an event covers in part takes that part of its effect.
        """
        ratios = np.ones(count)
        end = start + timedelta(seconds=window_s * count)
        for effect in self.effects:
            if effect.end <= start or effect.start >= end:
                continue
            covered = covered_shares(start, window_s, count, effect.start, effect.end)
            ratios *= 1 + covered * (effect.ratio - 1)
        return np.clip(ratios, 0.0, LARGEST_RATIO)

    def removed(self, series: ArrivalSeries) -> ArrivalSeries:
        """The series as it would have been without events; missing in outages and where next to nothing is usual."""
        counts = series.counts
        for start, end in self.outages:
            counts = np.where(
                covered_shares(series.start, series.window_s, counts.size, start, end) > 0, np.nan, counts
            )
        ratios = self.ratios(series.start, series.window_s, counts.size)
        counts = np.where(ratios < NEAR_NOTHING, np.nan, counts / np.maximum(ratios, NEAR_NOTHING))
        return replace(series, counts=counts)


@dataclass(frozen=True)
class _Occurrence:
    """log_ratio: of what came to what was usual. weight: 1 for one that was seen from beginning to end, under load."""

    log_ratio: float
    weight: float


def without_outages(series: ArrivalSeries, calendar: EventCalendar) -> ArrivalSeries:
    """The series with every window that an outage touches missing; calendar: of its source."""
    return EventEffects((), _outages(calendar)).removed(series) if _outages(calendar) else series


def learn_effects(series: ArrivalSeries, calendar: EventCalendar) -> EventEffects:
    """The effects of a calendar's events on the source that it is of, as far as this series tells; nothing later.

    What is usual goes by the clock of the source's people: both are compared as the wall showed them.
    """
    outages = _outages(calendar)
    events = [event for event in calendar.events if event.kind is not EventKind.OUTAGE]
    past = [event for event in events if event.start < series.end and event.end > series.start]
    seen = _occurrences(EventEffects((), outages).removed(series), past)
    return EventEffects(tuple(KnownEffect(event.start, event.end, _ratio(event, seen)) for event in events), outages)


def _walled(series: ArrivalSeries, events: Sequence[Event]) -> tuple[ArrivalSeries, dict[Event, Event]]:
    """The series on the wall's grid, and by event what the wall showed when it began and ended.

    One that began in the first of two hours alike and ended in the second before the wall showed its beginning again is
    left out.
    """
    if series.timezone == UTC_NAME:
        return series, {event: event for event in events}
    spans = [(on_the_wall(event.start, series.timezone), on_the_wall(event.end, series.timezone)) for event in events]
    shown = zip(events, spans, strict=True)
    wall, _ = on_wall_grid(series, series.timezone)
    return wall, {event: replace(event, start=start, end=end) for event, (start, end) in shown if start < end}


def covered_shares(start: datetime, window_s: int, count: int, begin: datetime, end: datetime) -> Floats:
    """Share of each of `count` windows from start that lies in [begin, end), shape (count,)."""
    first, last = ((at - start).total_seconds() / window_s for at in (begin, end))
    edges = np.clip(np.arange(count + 1, dtype=np.float64), first, last)
    return np.diff(edges)


def _outages(calendar: EventCalendar) -> tuple[tuple[datetime, datetime], ...]:
    return tuple((event.start, event.end) for event in calendar.events if event.kind is EventKind.OUTAGE)


def _ratio(event: Event, seen: Mapping[Event, _Occurrence]) -> float:
    """Of an event that was seen, what it did then; of others, and of what is left of it, what is to be expected."""
    expected = _expected(event, {other: occurrence for other, occurrence in seen.items() if other != event})
    if event not in seen:
        return expected
    own = seen[event]
    beforehand = math.log(max(expected, LEAST_RATIO))
    ratio = math.exp(own.weight * own.log_ratio + (1 - own.weight) * beforehand)
    # No rounding error is to make an effect where there was none.
    return min(round(ratio, 9), LARGEST_RATIO)


def _expected(event: Event, seen: Mapping[Event, _Occurrence]) -> float:
    """The ratio to be expected of an event by what was declared, and by what was seen of others."""
    alike = [o for other, o in seen.items() if (other.kind, other.label) == (event.kind, event.label)]
    if event.ratio is not None:
        beforehand = math.log(max(event.ratio, LEAST_RATIO))
        return math.exp(_steadied(alike, beforehand)) if alike else event.ratio
    kindred = [
        _Occurrence(o.log_ratio, KINDRED * o.weight)
        for other, o in seen.items()
        if other.kind is event.kind is not EventKind.OTHER and other.label != event.label
    ]
    return math.exp(_steadied(alike, _steadied(kindred, 0.0)))


def _steadied(occurrences: Sequence[_Occurrence], beforehand: float) -> float:
    """Their mean log ratio, with one more occurrence that was as expected beforehand."""
    total = sum(o.weight * o.log_ratio for o in occurrences) + beforehand
    return total / (sum(o.weight for o in occurrences) + 1)


def _occurrences(series: ArrivalSeries, past: Sequence[Event]) -> dict[Event, _Occurrence]:
    """What each event of the past did; those of which nothing can be said are left out."""
    series, shown = _walled(series, past)
    if not shown:
        return {}
    window_s, size = series.window_s, series.counts.size
    crowd = np.zeros(size)
    for event in shown.values():
        crowd += covered_shares(series.start, window_s, size, event.start, event.end) > 0
    calm = replace(series, counts=np.where(crowd > 0, np.nan, series.counts))
    if np.isfinite(calm.counts).sum() < windows_per_day(window_s):
        return {}
    hours = learn_open_hours(calm)
    level = weekly_profile(calm, SQRT, hours).level
    found = {event: _occurrence(on_wall, series, calm, crowd, level, hours) for event, on_wall in shown.items()}
    return {event: occurrence for event, occurrence in found.items() if occurrence is not None}


def _occurrence(
    event: Event, series: ArrivalSeries, calm: ArrivalSeries, crowd: Floats, level: WeeklyLevel, hours: OpenHours
) -> _Occurrence | None:
    window_s, size = series.window_s, series.counts.size
    first = math.floor((event.start - series.start).total_seconds() / window_s)
    last = math.ceil((event.end - series.start).total_seconds() / window_s)
    within = slice(max(0, first), min(size, last))
    around = slice(max(0, first - AROUND_S // window_s), min(size, last + AROUND_S // window_s))
    # The level of these days, not that of the whole history: growth is no effect of an event.
    usual_around = _usual(series, level, hours, around)
    known = np.isfinite(calm.counts[around]) & (usual_around > 0)
    total = float(usual_around[known].sum())
    height = 1.0
    if total > 0:
        height = float(np.minimum(calm.counts[around], BURST * usual_around)[known].sum()) / total
    usual = height * _usual(series, level, hours, within)
    covered = covered_shares(series.start, window_s, size, event.start, event.end)[within]
    counts = series.counts[within]
    chosen = _telling(np.isfinite(counts), covered, usual, crowd[within])
    expected = float((usual * covered)[chosen].sum())
    if expected <= 0:
        return None
    # What came besides, in the uncovered part of the windows, is as usual.
    came = float((counts - usual * (1 - covered))[chosen].sum())
    ratio = min(max(came / expected, LEAST_RATIO), LARGEST_RATIO)
    together = float(np.average(crowd[within][chosen], weights=(usual * covered)[chosen]))
    whole = _usual(series, level, hours, slice(first, last))
    start = series.start + timedelta(seconds=first * window_s)
    whole *= height * covered_shares(start, window_s, last - first, event.start, event.end)
    share = min(1.0, expected / float(whole.sum()))
    return _Occurrence(math.log(ratio) / together, share * expected / (expected + STEADYING_EVENTS))


def _usual(series: ArrivalSeries, level: WeeklyLevel, hours: OpenHours, of: slice) -> Floats:
    """Usual counts of a range of windows, which may lie outside of the series; 0 in closed hours."""
    start = series.start + timedelta(seconds=of.start * series.window_s)
    count = of.stop - of.start
    usual = SQRT.inverse(level.transformed(start, count))
    return np.where(hours.open_mask(start, count), usual, 0.0)


def _telling(known: Flags, covered: Floats, usual: Floats, crowd: Floats) -> Flags:
    """The windows that tell most of an event: those that it covers by half at least, and that no other event touches.

    Where there are none, those that it covers at all; where there are none, those that it shares.
    """
    usable = known & (usual > 0)
    alone = crowd <= 1
    for chosen in (usable & alone & (covered >= 0.5), usable & alone & (covered > 0), usable & (covered >= 0.5)):
        if chosen.any():
            return np.asarray(chosen)
    return np.asarray(usable & (covered > 0))
