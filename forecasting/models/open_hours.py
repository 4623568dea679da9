"""When a source is closed: hours of the week that are (nearly) always zero, such as nights and weekends.

Closed hours are structural. A forecaster that treats them as very low load carries daytime errors into the night, and
the night's zeros into its model of the day.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from forecasting.arrays import Flags, Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.time_grid import week_slots, weekend_slots, windows_per_day

ZERO_SHARE = 0.8
NEGLIGIBLE = 0.02
MIN_S = 3600
EXPECTED_EVENTS = 20.0
"""With this many expected events, an empty span has probability e^-20."""


@dataclass(frozen=True)
class OpenHours:
    """closed: per slot of the week, whether no arrivals are expected."""

    window_s: int
    closed: Flags

    def open_mask(self, start: datetime, count: int) -> Flags:
        """Whether each of `count` windows from start is open; shape (count,)."""
        return ~self.closed[week_slots(start, self.window_s, count)]

    def with_closed_days(self, other: "OpenHours") -> "OpenHours":
        """These hours without the weekdays on which the other hours are closed all day."""
        days = other.closed.reshape(7, -1).all(axis=1)
        return OpenHours(self.window_s, self.closed | np.repeat(days, self.closed.size // 7))


def learn_open_hours(series: ArrivalSeries) -> OpenHours:
    """Slots of the week that are zero in at least ZERO_SHARE of their history.

    Other counts there must be negligible against busy hours. A closed span lasts at least an hour, and at the mean rate
    it would have had at least EXPECTED_EVENTS: zeros of a sparse stream mean nothing. Slots seen less than twice are
    judged by the same time on other weekdays (or weekend days), then on all days.
    """
    slots = week_slots(series.start, series.window_s, series.counts.size)
    per_day = windows_per_day(series.window_s)
    seen = np.isfinite(series.counts)
    size = 7 * per_day
    observed: Floats = np.bincount(slots[seen], minlength=size).astype(np.float64)
    zeros: Floats = np.bincount(slots[seen & (series.counts == 0)], minlength=size).astype(np.float64)
    total: Floats = np.bincount(slots[seen], weights=series.counts[seen], minlength=size).astype(np.float64)
    zeros = _borrowed(zeros, observed, series.window_s)
    total = _borrowed(total, observed, series.window_s)
    observed = _borrowed(observed, observed, series.window_s)
    known = observed > 0
    mean = np.divide(total, observed, out=np.zeros(size), where=known)
    busy = float(np.quantile(mean[known], 0.95)) if known.any() else 0.0
    share = np.divide(zeros, observed, out=np.zeros(size), where=known)
    closed = known & (share >= ZERO_SHARE) & (mean <= NEGLIGIBLE * busy)
    expected = observed * (float(series.counts[seen].mean()) if seen.any() else 0.0)
    return OpenHours(series.window_s, _long_runs(closed, -(-MIN_S // series.window_s), expected))


def _borrowed(values: Floats, observed: Floats, window_s: int) -> Floats:
    """The sums per slot of the week, taken over more days if fewer than two weeks include the slot."""
    per_day = windows_per_day(window_s)
    weekend = weekend_slots(window_s).reshape(7, per_day)
    days, seen = values.reshape(7, per_day), observed.reshape(7, per_day)
    of_class = np.where(weekend, days[5:].sum(axis=0), days[:5].sum(axis=0))
    seen_of_class = np.where(weekend, seen[5:].sum(axis=0), seen[:5].sum(axis=0))
    of_all = np.broadcast_to(days.sum(axis=0), days.shape)
    chosen = np.where(seen >= 2, days, np.where(seen_of_class >= 2, of_class, of_all))
    return np.asarray(chosen, dtype=np.float64).reshape(-1)


def _long_runs(flags: Flags, shortest: int, expected: Floats) -> Flags:
    """The flags in cyclic runs of at least `shortest` slots and EXPECTED_EVENTS expected events."""
    if flags.all():
        return np.full_like(flags, expected.sum() >= EXPECTED_EVENTS)
    if not flags.any():
        return flags
    turn = int(np.flatnonzero(~flags)[0])
    rolled, events = np.roll(flags, -turn), np.roll(expected, -turn)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rolled, [False]]).astype(np.int8)))
    kept = np.zeros_like(rolled)
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        kept[begin:end] = end - begin >= shortest and events[begin:end].sum() >= EXPECTED_EVENTS
    return np.roll(kept, turn)
