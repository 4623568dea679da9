"""Copies of one counter: the series of two replicas of a server that scrape the same target, or of a federated copy.

Their labels are equal but for one, and they rise alike: at the same moments they hold the same value, but for what is
counted between two scrapes. Counted together they double the load. Other counters of the same kind (pods) drift apart
by more, unless requests are dealt to them strictly in turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from forecasting.arrivals.arrival_source import SeriesCopies
from forecasting.arrivals.sources.counter_readings import CounterReadings

MIN_READINGS = 10
"""Readings in common below which nothing is said of two series."""

MIN_RISE = 100.0
"""Events in common below which two idle counters are alike by chance."""

Labels = tuple[tuple[str, str], ...]


def series_copies(source: str, series: Mapping[Labels, CounterReadings]) -> tuple[SeriesCopies, ...]:
    """The copies among the series of one source, by label."""
    found = []
    for label in sorted({name for labels in series for name, _ in labels}):
        alike = [group for several in grouped(series, label) if (group := _alike(several, series))]
        if alike:
            values = tuple(sorted(dict(labels)[label] for labels in alike[0]))
            found.append(SeriesCopies(source, label, values, len(alike)))
    return tuple(found)


def grouped(series: Mapping[Labels, CounterReadings], label: str) -> Iterator[list[Labels]]:
    """Groups of at least two series whose labels are equal but for that one, which each has."""
    groups: dict[Labels, list[Labels]] = {}
    for labels in sorted(series):
        if label in dict(labels):
            groups.setdefault(tuple(pair for pair in labels if pair[0] != label), []).append(labels)
    return (several for several in groups.values() if len(several) > 1)


def without_copies(series: Mapping[Labels, CounterReadings], label: str) -> dict[Labels, CounterReadings]:
    """One series for all whose labels are equal but for `label`: that with the most readings, and those of the others
    where it was not read.
    """
    kept = dict(series)
    for several in grouped(series, label):
        copies = sorted((kept.pop(labels) for labels in several), key=lambda each: -each.times_us.size)
        kept[several[0]] = _merged(copies)
    return kept


def _alike(several: Sequence[Labels], series: Mapping[Labels, CounterReadings]) -> list[Labels]:
    """The first group of them that hold the same values. Copies have nearly the same last value, so only neighbours are
    compared.
    """
    ordered = sorted(several, key=lambda labels: float(series[labels].values[-1]) if series[labels].values.size else 0)
    group: list[Labels] = []
    for before, after in pairwise(ordered):
        if _same(series[before], series[after]):
            group = [*(group or [before]), after]
        elif group:
            break
    return group


def _same(one: CounterReadings, other: CounterReadings) -> bool:
    """Whether each reading of `other` lies within what `one` counted around that time."""
    if one.times_us.size < MIN_READINGS or other.times_us.size < MIN_READINGS:
        return False
    within = (other.times_us >= one.times_us[0]) & (other.times_us <= one.times_us[-1])
    times_us, values = other.times_us[within], other.values[within]
    if times_us.size < MIN_READINGS or values[-1] - values[0] < MIN_RISE:
        return False
    at = np.searchsorted(one.times_us, times_us)
    low = one.values[np.maximum(at - 2, 0)]
    high = one.values[np.minimum(at + 1, one.times_us.size - 1)]
    # A restart between two readings says nothing of these.
    fell = high < low
    return bool(((values >= low) & (values <= high) | fell).all() and fell.mean() < 0.5)


def _merged(copies: Sequence[CounterReadings]) -> CounterReadings:
    """The first, and between its readings those of the others that continue it: a copy read by another clock may lag,
    and a value below the one before would count as a restart.
    """
    base, *others = copies
    for other in others:
        gap_us = 2 * float(np.median(np.diff(base.times_us))) if base.times_us.size > 1 else 0.0
        after = np.searchsorted(base.times_us, other.times_us)
        before = np.maximum(after - 1, 0)
        next_at = np.minimum(after, base.times_us.size - 1)
        inside = (after > 0) & (after < base.times_us.size)
        wide = base.times_us[next_at] - base.times_us[before] > gap_us
        continues = (other.values >= base.values[before]) & (other.values <= base.values[next_at])
        earlier = (after == 0) & (base.times_us[0] - other.times_us > gap_us / 2) & (other.values <= base.values[0])
        later = (after == base.times_us.size) & (other.times_us - base.times_us[-1] > gap_us / 2)
        later &= np.maximum.accumulate(np.where(later, other.values >= base.values[-1], False))
        fill = (inside & wide & continues) | earlier | later
        times_us = np.concatenate([base.times_us, other.times_us[fill]])
        order = np.argsort(times_us, kind="stable")
        times_us, values = times_us[order], np.concatenate([base.values, other.values[fill]])[order]
        new = np.concatenate([[True], np.diff(times_us) > 0])
        base = CounterReadings(times_us[new], values[new])
    return base
