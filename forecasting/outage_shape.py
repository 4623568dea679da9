"""Finds spans that look like an undeclared outage or a dead feed: far fewer events than usual, then as before.

A forecast would learn such a span as low load. Nothing is left out of it here: whether events were lost, or so few
came, a person knows. Each span is compared with the same hours of other weeks, scaled to the day before it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrays import Flags, Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import EventCalendar
from forecasting.events.effects import covered_shares
from forecasting.local_time import instant_or_change, on_wall, zone
from forecasting.models.time_grid import DAY_S

HOUR_S = 3600
WEEK_S = 7 * DAY_S
MAX_SHARE = 0.5
"""A span with a larger share of the usual load is taken for an ordinary one."""
MIN_LOST_DAYS = 0.125
"""Least loss, in usual days: three hours of a steady feed. What is shorter hardly moves a forecast."""
MAX_SPAN_S = 4 * WEEK_S
"""A longer one is a new level."""
MIN_SIGMAS = 4.0
"""Least distance of the span's log share from 0, in robust standard deviations of the log shares of ordinary days."""
MIN_USUAL = 30.0
"""Hours with fewer usual events (tuples) show nothing: their counts vary by chance."""
OTHER_WEEKS = 4
_AROUND = 24
_EDGE = 3
"""Least number of informative hours at either side."""
_CALM_DAYS = 5


@dataclass(frozen=True)
class SuspectedOutage:
    """[start, end): whole hours. share: counted events over usual ones. lost: usual minus counted events (tuples).

    ongoing: it reaches to the end of the series.
    """

    source: str
    start: datetime
    end: datetime
    share: float
    lost: float
    ongoing: bool


def suspected_outages(series: ArrivalSeries, calendar: EventCalendar) -> tuple[SuspectedOutage, ...]:
    """In order of time. calendar: declared events of the source; what happens during one, of whatever kind, is known.

    It needs a week before the span, or after it. Weeks are those of the series' time zone.
    """
    # After a change of the clocks, habits come at another hour of UTC.
    wall = on_wall(replace(series, counts=_undeclared(series, calendar)))
    per_bin = max(1, HOUR_S // series.window_s)
    bin_s = per_bin * series.window_s
    bins = wall.counts.size // per_bin
    if WEEK_S % bin_s or not bins:
        return ()
    counts = _binned(wall.counts[: bins * per_bin].reshape(bins, per_bin))
    week = WEEK_S // bin_s
    weeks = range(-OTHER_WEEKS, OTHER_WEEKS + 1)
    usual = _median([_shifted(counts, each * week) for each in weeks if each])
    usual[~(usual >= MIN_USUAL * bin_s / HOUR_S)] = np.nan
    found = []
    for first, end in _low_runs(counts / usual):
        span = _span(counts, usual, first, end, week)
        if span is not None:
            share, lost, ongoing = span
            walls = [(wall.start + timedelta(seconds=at * bin_s)).replace(tzinfo=None) for at in (first, end)]
            place = zone(series.timezone)
            start, until = (instant_or_change(at, place, ends=at == walls[1]) for at in walls)
            found.append(SuspectedOutage(series.source, start, until, share, lost, ongoing))
    return tuple(found)


def _undeclared(series: ArrivalSeries, calendar: EventCalendar) -> Floats:
    """Counts; NaN during declared events."""
    counts = series.counts
    for event in calendar.of_source(series.source).between(series.start, series.end).events:
        covered = covered_shares(series.start, series.window_s, counts.size, event.start, event.end)
        counts = np.where(covered > 0, np.nan, counts)
    return counts


def _binned(counts: Floats) -> Floats:
    """Counts per row; of windows known in part scaled up, NaN if less than half of them are known."""
    known = np.isfinite(counts).sum(axis=1)
    sums = np.nansum(counts, axis=1)
    return np.where(2 * known >= counts.shape[1], sums * counts.shape[1] / np.maximum(known, 1), np.nan)


def _shifted(counts: Floats, by: int) -> Floats:
    """The value `by` bins later at each place, NaN beyond the ends."""
    shifted = np.full_like(counts, np.nan)
    if by >= 0:
        shifted[: max(0, counts.size - by)] = counts[by:]
    else:
        shifted[-by:] = counts[:by]
    return shifted


def _median(several: list[Floats]) -> Floats:
    """Median of the known values at each place, NaN without one."""
    stacked = np.sort(np.stack(several), axis=0)  # NaN last
    known = np.isfinite(stacked).sum(axis=0)
    at = np.arange(stacked.shape[1])
    low, high = np.maximum(known - 1, 0) // 2, known // 2
    return np.where(known > 0, (stacked[low, at] + stacked[np.minimum(high, len(several) - 1), at]) / 2, np.nan)


def _low_runs(ratio: Floats) -> Iterator[tuple[int, int]]:
    """Runs [first, end) of low hours; one ordinary hour, or hours that show nothing, do not end one."""
    informative = np.flatnonzero(np.isfinite(ratio))
    low: Flags = ratio[informative] < MAX_SHARE
    position = 0
    while position < low.size:
        if not low[position]:
            position += 1
            continue
        last = position
        while last + 1 < low.size and low[last + 1 : last + 3].any():
            last += 1 if low[last + 1] else 2
        first, end = int(informative[position]), int(informative[last]) + 1
        # An hour in which it began or ended is lost in part.
        yield first - int(first > 0 and _cut(ratio[first - 1])), end + int(end < ratio.size and _cut(ratio[end]))
        position = last + 1


def _cut(ratio: float) -> bool:
    return bool(ratio < (1 + MAX_SHARE) / 2 + 0.05)


def _span(counts: Floats, usual: Floats, first: int, end: int, week: int) -> tuple[float, float, bool] | None:
    """Share, loss and whether it goes on; None if it does not look like an outage."""
    if end - first > MAX_SPAN_S // WEEK_S * week:
        return None
    apart = -(-(end - first) // week)
    for sign in (-1, 1):
        reference = _median([_shifted(counts, sign * (apart + each) * week) for each in range(OTHER_WEEKS)])
        reference[~(reference >= MIN_USUAL * week * HOUR_S / WEEK_S)] = np.nan
        known = np.isfinite(counts) & np.isfinite(reference)
        before, after = slice(max(0, first - _AROUND), first), slice(end, end + _AROUND)
        within = slice(first, end)
        if known[before].sum() < _EDGE or not known[within].any():
            continue
        level = _share(counts, reference, known, before)
        if level <= 0:
            return None
        share = _share(counts, reference, known, within) / level
        lost = float((reference * level - counts)[within][known[within]].sum())
        ongoing = bool(np.isfinite(counts[end:]).sum() < _EDGE)
        recovered = ongoing or known[after].sum() < _EDGE
        recovered = recovered or _share(counts, reference, known, after) / level >= (1 + share) / 2
        usual_day = float(np.nanmean(usual)) * week / 7 * float(np.isfinite(usual).mean())
        if share < MAX_SHARE and lost >= MIN_LOST_DAYS * usual_day and recovered:
            return (share, lost, ongoing) if _is_unusual(share, counts, usual, within, week) else None
        return None
    return None


def _share(counts: Floats, reference: Floats, known: Flags, part: slice) -> float:
    return float(counts[part][known[part]].sum() / reference[part][known[part]].sum())


def _is_unusual(share: float, counts: Floats, usual: Floats, within: slice, week: int) -> bool:
    """Whether ordinary days of this source hardly ever have so small a share."""
    calm = counts / usual
    calm[within] = np.nan
    day = week // 7
    days = calm[: calm.size // day * day].reshape(-1, day)
    known = np.isfinite(days).sum(axis=1) >= _EDGE
    if known.sum() < _CALM_DAYS:
        return True
    logs = np.log(np.maximum(np.nanmean(days[known], axis=1), 0.01))
    sigma = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
    return math.log(max(share, 0.01)) < -MIN_SIGMAS * sigma
