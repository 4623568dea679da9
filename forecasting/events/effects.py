"""The effect of an event on the load of one source, learnt from that source's own past.

Each occurrence is compared with the usual week, fitted without events: its log ratio is actual over usual load. A
future event gets the mean over the occurrences of its label, shrunk towards a prior with the weight of one occurrence:
the declared ratio, else the effect of other events of its kind (shrunk likewise), else no effect. One occurrence then
counts for a half, two for two thirds, n for n/(n+1). This is the best linear estimate if an event varies between
occurrences as much as events differ from each other, the strongest assumption justified after one or two occurrences.
An observed event keeps its own ratio, as far as it was observed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Flags, Floats
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.events.calendar import MAX_RATIO, Event, EventCalendar, EventKind
from forecasting.local_time import on_the_wall, on_wall_grid
from forecasting.models.open_hours import OpenHours, learn_open_hours
from forecasting.models.slow_level import WeeklyLevel
from forecasting.models.time_grid import DAY_S, windows_per_day
from forecasting.models.transform import SQRT
from forecasting.models.weekly_profile import weekly_profile

MIN_RATIO = 0.01
"""Ratio assumed for an event without arrivals, so that its logarithm is finite."""
NEAR_NOTHING = 0.1
"""Windows with a smaller share of the usual load are ignored: divided by so little, their ratios would be noise."""
STEADYING_EVENTS = 20.0
"""An occurrence with this many expected arrivals (tuples) counts as half an occurrence."""
KINDRED = 0.5
"""Weight of another label of the same kind, relative to the label's own occurrences: not every holiday is a Christmas.
"""
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
    """The effects of one source's events, past and future. outages: spans whose counts are invalid."""

    effects: tuple[KnownEffect, ...]
    outages: tuple[tuple[datetime, datetime], ...] = ()

    def ratios(self, start: datetime, window_s: int, count: int) -> Floats:
        """Load divided by usual load in each of `count` windows from start, from 0 to MAX_RATIO; shape (count,).

        Events that overlap multiply; a window that an event covers in part takes that part of its effect.
        """
        ratios = np.ones(count)
        end = start + timedelta(seconds=window_s * count)
        for effect in self.effects:
            if effect.end <= start or effect.start >= end:
                continue
            covered = covered_shares(start, window_s, count, effect.start, effect.end)
            ratios *= 1 + covered * (effect.ratio - 1)
        return np.clip(ratios, 0.0, MAX_RATIO)

    def removed(self, series: ArrivalSeries) -> ArrivalSeries:
        """The series as it would have been without events; missing in outages and where the ratio is near zero."""
        counts = series.counts
        for start, end in self.outages:
            counts = np.where(
                covered_shares(series.start, series.window_s, counts.size, start, end) > 0, np.nan, counts
            )
        ratios = self.ratios(series.start, series.window_s, counts.size)
        counts = np.where(ratios < NEAR_NOTHING, np.nan, counts / np.maximum(ratios, NEAR_NOTHING))
        return replace(series, counts=counts)


@dataclass(frozen=True)
class Occurrence:
    """log_ratio: of actual to usual load. weight: 1 if observed from beginning to end under load."""

    log_ratio: float
    weight: float


def without_outages(series: ArrivalSeries, calendar: EventCalendar) -> ArrivalSeries:
    """The series with all windows that overlap an outage set missing. calendar: of its source."""
    return EventEffects((), _outages(calendar)).removed(series) if _outages(calendar) else series


def learn_effects(series: ArrivalSeries, calendar: EventCalendar) -> EventEffects:
    """The effects of a calendar's events on its source, learnt from this series only, nothing later.

    Usual load follows local time, so series and events are compared on the wall clock.
    """
    outages = _outages(calendar)
    events = [event for event in calendar.events if event.kind is not EventKind.OUTAGE]
    past = [event for event in events if event.start < series.end and event.end > series.start]
    seen = _occurrences(EventEffects((), outages).removed(series), past)
    return EventEffects(tuple(KnownEffect(event.start, event.end, _ratio(event, seen)) for event in events), outages)


def _walled(series: ArrivalSeries, events: Sequence[Event]) -> tuple[ArrivalSeries, dict[Event, Event]]:
    """The series on the wall-clock grid, and each event with its wall-clock start and end.

    An event within a repeated hour whose wall-clock end would not be after its start is left out.
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


def _ratio(event: Event, seen: Mapping[Event, Occurrence]) -> float:
    """The observed ratio as far as the event was observed, the expected ratio for the rest."""
    expected = expected_ratio(event, {other: occurrence for other, occurrence in seen.items() if other != event})
    if event not in seen:
        return expected
    own = seen[event]
    beforehand = math.log(max(expected, MIN_RATIO))
    ratio = math.exp(own.weight * own.log_ratio + (1 - own.weight) * beforehand)
    # Rounding errors must not create an effect.
    return min(round(ratio, 9), MAX_RATIO)


def expected_ratio(event: Event, seen: Mapping[Event, Occurrence]) -> float:
    """The expected ratio, from the declared ratio and from other occurrences."""
    alike = [o for other, o in seen.items() if (other.kind, other.label) == (event.kind, event.label)]
    if event.ratio is not None:
        beforehand = math.log(max(event.ratio, MIN_RATIO))
        return math.exp(_steadied(alike, beforehand)) if alike else event.ratio
    kindred = [
        Occurrence(o.log_ratio, KINDRED * o.weight)
        for other, o in seen.items()
        if other.kind is event.kind is not EventKind.OTHER and other.label != event.label
    ]
    return math.exp(_steadied(alike, _steadied(kindred, 0.0)))


def _steadied(occurrences: Sequence[Occurrence], beforehand: float) -> float:
    """Mean log ratio of the occurrences and one further occurrence at the prior."""
    total = sum(o.weight * o.log_ratio for o in occurrences) + beforehand
    return total / (sum(o.weight for o in occurrences) + 1)


def _occurrences(series: ArrivalSeries, past: Sequence[Event]) -> dict[Event, Occurrence]:
    """The observed effect of each past event; events without usable windows are left out."""
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
) -> Occurrence | None:
    window_s, size = series.window_s, series.counts.size
    first = math.floor((event.start - series.start).total_seconds() / window_s)
    last = math.ceil((event.end - series.start).total_seconds() / window_s)
    within = slice(max(0, first), min(size, last))
    around = slice(max(0, first - AROUND_S // window_s), min(size, last + AROUND_S // window_s))
    # Use the level of these days, not of the whole history: growth is not an effect of the event.
    usual_around = _usual(series, level, hours, around)
    known = np.isfinite(calm.counts[around]) & (usual_around > 0)
    total = float(usual_around[known].sum())
    height = 1.0
    if total > 0:
        height = float(np.minimum(calm.counts[around], BURST * usual_around)[known].sum()) / total
    usual = height * _usual(series, level, hours, within)
    covered = covered_shares(series.start, window_s, size, event.start, event.end)[within]
    counts = series.counts[within]
    chosen = _informative(np.isfinite(counts), covered, usual, crowd[within])
    expected = float((usual * covered)[chosen].sum())
    if expected <= 0:
        return None
    # The uncovered part of the windows is assumed to be as usual.
    counted = float((counts - usual * (1 - covered))[chosen].sum())
    ratio = min(max(counted / expected, MIN_RATIO), MAX_RATIO)
    together = float(np.average(crowd[within][chosen], weights=(usual * covered)[chosen]))
    whole = _usual(series, level, hours, slice(first, last))
    start = series.start + timedelta(seconds=first * window_s)
    whole *= height * covered_shares(start, window_s, last - first, event.start, event.end)
    share = min(1.0, expected / float(whole.sum()))
    return Occurrence(math.log(ratio) / together, share * expected / (expected + STEADYING_EVENTS))


def _usual(series: ArrivalSeries, level: WeeklyLevel, hours: OpenHours, of: slice) -> Floats:
    """Usual counts of a range of windows, which may lie outside the series; 0 in closed hours."""
    start = series.start + timedelta(seconds=of.start * series.window_s)
    count = of.stop - of.start
    usual = SQRT.inverse(level.transformed(start, count))
    return np.where(hours.open_mask(start, count), usual, 0.0)


def _informative(known: Flags, covered: Floats, usual: Floats, crowd: Floats) -> Flags:
    """The most informative windows of an event: at least half covered and free of other events.

    If there are none, those covered at all; if there are none, those shared with other events.
    """
    usable = known & (usual > 0)
    alone = crowd <= 1
    for chosen in (usable & alone & (covered >= 0.5), usable & alone & (covered > 0), usable & (covered >= 0.5)):
        if chosen.any():
            return np.asarray(chosen)
    return np.asarray(usable & (covered > 0))
