"""The load of a replay: arrivals per source and minute, with gaps filled and wide windows interpolated."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from modeling.arrays import Flags, Floats
from planner.clusters.arrival_trace import ArrivalTrace, CountedArrivals
from planner.errors import PlanError

MINUTE_S = 60
DAY_MINUTES = 1440
MAX_MISSING = 0.1
"""Largest share of a trace that may be filled in; with more, the replay would rest on guesses."""
MAX_MINUTES = 4 * 366 * 24 * 60


@dataclass(frozen=True)
class Load:
    """start_s: epoch seconds of the first minute, a multiple of 60. rate_per_s: by source, shape (minutes,). notes:
    sentences on how the trace was completed.
    """

    start_s: int
    rate_per_s: Mapping[str, Floats]
    notes: tuple[str, ...] = ()

    @property
    def minutes(self) -> int:
        return int(next(iter(self.rate_per_s.values())).size)

    @property
    def end_s(self) -> int:
        return self.start_s + self.minutes * MINUTE_S

    @property
    def start(self) -> datetime:
        return datetime.fromtimestamp(self.start_s, UTC)

    @property
    def end(self) -> datetime:
        return datetime.fromtimestamp(self.end_s, UTC)

    def between(self, from_s: float, until_s: float) -> "Load":
        """The minutes within that span."""
        first, last = (
            round((min(max(at, self.start_s), self.end_s) - self.start_s) / MINUTE_S) for at in (from_s, until_s)
        )
        rates = {source: rates[first:last] for source, rates in self.rate_per_s.items()}
        return replace(self, start_s=self.start_s + first * MINUTE_S, rate_per_s=rates)

    def scaled(self, factor: float) -> "Load":
        return replace(self, rate_per_s={source: rates * factor for source, rates in self.rate_per_s.items()})

    def behind(self, waiting: Mapping[str, float]) -> "Load":
        """The same after minutes in which the waiting tuples of each source came, at the rates of the first minute; in
        a day at most.
        """
        first_per_s = {source: float(rates[0]) for source, rates in self.rate_per_s.items()}
        took_s = (count / first_per_s[source] if first_per_s[source] else 0.0 for source, count in waiting.items())
        minutes = min(DAY_MINUTES, max(1, math.ceil(max(took_s, default=0.0) / MINUTE_S)))
        rates = {
            source: np.concatenate(
                [np.full(minutes, max(first_per_s[source], waiting.get(source, 0.0) / (minutes * MINUTE_S))), rates]
            )
            for source, rates in self.rate_per_s.items()
        }
        return replace(self, start_s=self.start_s - minutes * MINUTE_S, rate_per_s=rates)

    @property
    def mean_per_s(self) -> dict[str, float]:
        """Over all minutes, by source."""
        return {source: float(rates.mean()) for source, rates in self.rate_per_s.items()}

    def digest(self) -> str:
        """SHA-256 over all arrivals and their times."""
        digest = hashlib.sha256(str(self.start_s).encode())
        for source, rates in sorted(self.rate_per_s.items()):
            digest.update(source.encode() + np.ascontiguousarray(rates, dtype="<f8").tobytes())
        return digest.hexdigest()

    def traces(self) -> dict[str, ArrivalTrace]:
        """Input for the simulator."""
        start = datetime.fromtimestamp(self.start_s, UTC)
        return {
            source: ArrivalTrace(_Counted(start, MINUTE_S, rates * MINUTE_S))
            for source, rates in self.rate_per_s.items()
        }


@dataclass(frozen=True)
class _Counted:
    start: datetime
    window_s: int
    counts: Floats


def minute_load(
    series: Mapping[str, CountedArrivals],
    replayed_from_s: float = -math.inf,
    *,
    may_be_silent: bool = False,
    most_missing: float = MAX_MISSING,
) -> Load:
    """Rates of every source by minute, over the span that all of them cover. may_be_silent: whether there may be no
    arrivals.

    Windows shorter than a minute are summed. In wider ones the rate is interpolated linearly through the middles of the
    windows, as steps of the trace would look like jumps of the load. Missing windows are interpolated too.
    replayed_from_s: earlier arrivals are only learned from, and any number of them may be missing. Raises PlanError if
    more than most_missing of a source's replayed windows are missing, or the span is too short or too long.
    """
    if not series:
        raise PlanError("a replay needs arrivals of at least one source; none was given")
    start_s = max(-(-int(each.start.timestamp()) // MINUTE_S) * MINUTE_S for each in series.values())
    end_s = min(int(_end_s(each)) // MINUTE_S * MINUTE_S for each in series.values())
    minutes = (end_s - start_s) // MINUTE_S
    if minutes < 2:
        raise PlanError(
            f"the sources {', '.join(series)} have {max(0, minutes)} whole minutes in common; a replay needs at least "
            "two"
        )
    if minutes > MAX_MINUTES:
        raise PlanError(
            f"the trace spans {minutes / 1440:.0f} days, a replay at most {MAX_MINUTES / 1440:.0f}; give a part of it "
            "by --from and --until"
        )
    notes: list[str] = []
    rates = {}
    for source, each in series.items():
        rates[source], source_notes = _by_minute(source, each, start_s, minutes, replayed_from_s, most_missing)
        notes += source_notes
    if not may_be_silent and not any(rate.any() for rate in rates.values()):
        raise PlanError(f"nothing arrives at {', '.join(rates)} in the whole trace; give one with arrivals")
    return Load(start_s, rates, tuple(notes))


def _by_minute(
    source: str, each: CountedArrivals, start_s: int, minutes: int, replayed_from_s: float, most_missing: float
) -> tuple[Floats, list[str]]:
    known, window_s = np.isfinite(each.counts), each.window_s
    begin_s, middle_s = each.start.timestamp(), (np.arange(each.counts.size) + 0.5) * window_s
    replayed = begin_s + middle_s + window_s / 2 > replayed_from_s
    missing, notes = float(np.mean(~known[replayed])), []
    if missing > most_missing:
        raise PlanError(
            f"source {source!r}: {missing:.0%} of the windows are missing, at most {most_missing:.0%} are filled in; "
            "replay a span that is whole"
        )
    counts = np.asarray(each.counts, dtype=np.float64)
    for what, of in (("", replayed), (" before the replay", ~replayed)):
        if lacking := np.count_nonzero(of & ~known):
            gaps = f"{lacking} of {np.count_nonzero(of)} windows of {window_s} s{what} are missing"
            notes.append(f"{source}: {gaps}, and bridged in straight lines")
    filled = _bridged(counts, known, known)
    if not known[~replayed].all():
        # Gaps before the replay are filled without knowledge of the replay.
        filled = np.where(replayed, filled, _bridged(counts, known & ~replayed, known))
    counts = filled
    at_s = start_s - begin_s + MINUTE_S * np.arange(minutes + 1)
    if window_s > MINUTE_S:
        notes.append(
            f"{source}: windows of {window_s} s, so rates within them are straight lines between their middles"
        )
        return np.interp(at_s[:-1] + MINUTE_S / 2, middle_s, counts / window_s), notes
    edges_s = np.arange(counts.size + 1) * window_s
    came = np.interp(at_s, edges_s, np.concatenate([[0.0], np.cumsum(counts)]))
    return np.diff(came) / MINUTE_S, notes


def _bridged(counts: Floats, by: Flags, known: Flags) -> Floats:
    """Unknown counts, interpolated between those in `by`; between all known ones if `by` is empty."""
    by = by if by.any() else known
    at = np.arange(counts.size)
    return np.where(known, counts, np.interp(at, at[by], counts[by]))


def _end_s(each: CountedArrivals) -> float:
    return each.start.timestamp() + each.counts.size * each.window_s
