"""Selects the sources from which a young source may borrow its shape: those its file names, else similar ones.

Loads are autocorrelated, so any two stretches of a few hours correlate by chance. Therefore the young source's
autocorrelation is removed from both series (Cochrane and Orcutt 1949) before their correlation is tested, and the test
is stricter the more sources are examined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import scipy  # which imports its modules when they are used

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.local_time import on_wall
from forecasting.models.borrowed_forecaster import MIN_DAYS, MIN_SIBLING_DAYS
from forecasting.models.enough_history import why_too_little
from forecasting.models.open_hours import learn_open_hours
from forecasting.models.time_grid import DAY_S
from forecasting.models.transform import SQRT
from forecasting.models.weekly_profile import weekly_profile

YOUNG_S = 14 * DAY_S
"""From this age nothing is borrowed: with two weeks of history a source has every forecaster and a record of each."""
FOUND_FROM_S = DAY_S
"""Before this age only named siblings are used: half a day resembles too many other sources, and some siblings found
from it lost to persistence (benchmarks/cold_start.py)."""
LENT_S = 56 * DAY_S
"""Length of history that a sibling lends: eight weeks, the topology file's default."""
MAX_SIBLINGS = 3
CHANCE = 0.01
"""Probability of accepting any source by chance, however many are examined."""
SPAN_S = 1800
MIN_SPANS = 6
MAX_WANDERING = 0.98


@dataclass(frozen=True)
class Likeness:
    """correlation: of the young source's rate with the other's usual week at the same times, NaN if unknown.

    chance: p-value, the probability of such a correlation between unrelated sources.
    """

    correlation: float
    chance: float


@dataclass(frozen=True)
class LentShape:
    """The lender of a shape, as stored with the trained model.

    timezone: of the sibling's days. outages: start and end of those left out of its series. snapshot: the store's
    commit that it was read from; empty if none. digest: of its series as used. correlation: with the young source, NaN
    if unknown. named: whether the topology file names it.
    """

    topology: str
    source: str
    timezone: str
    outages: tuple[tuple[datetime, datetime], ...]
    snapshot: str
    digest: str
    correlation: float
    named: bool

    def description(self) -> str:
        """The sibling in words."""
        alike = f"correlation {self.correlation:.2f}" if np.isfinite(self.correlation) else "correlation not known"
        return f"{self.topology}/{self.source} ({'named' if self.named else 'found'}, {alike})"


@dataclass(frozen=True)
class Sibling:
    """A source that may lend its shape, with its series. chance: as in Likeness."""

    series: ArrivalSeries
    shape: LentShape
    chance: float


@dataclass(frozen=True)
class Lent:
    """The shapes that a young source borrows. series: of the shapes, in their order; empty for a trained model.

    notes: on siblings that lend nothing, for readers.
    """

    shapes: tuple[LentShape, ...] = ()
    series: tuple[ArrivalSeries, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def by(cls, siblings: Sequence[Sibling], notes: Sequence[str] = ()) -> "Lent":
        return cls(tuple(each.shape for each in siblings), tuple(each.series for each in siblings), tuple(notes))


NOTHING_LENT = Lent()


def sibling_of(
    young: ArrivalSeries,
    other: ArrivalSeries,
    *,
    named: bool,
    snapshot: str = "",
    outages: Sequence[tuple[datetime, datetime]] = (),
) -> Sibling:
    """Another source as a sibling of a young one. outages: those left out of its series."""
    alike = likeness(young, other)
    shape = LentShape(
        other.topology,
        other.source,
        other.timezone,
        tuple(outages),
        snapshot,
        other.digest(),
        alike.correlation,
        named,
    )
    return Sibling(other, shape, alike.chance)


def why_no_lender(series: ArrivalSeries) -> str | None:
    """Why a series is too short or too sparse to lend its shape, or None if it is not."""
    return why_too_little(series, MIN_SIBLING_DAYS)


def likeness(young: ArrivalSeries, other: ArrivalSeries) -> Likeness:
    """Similarity of a young source to the usual week of another one, each in its local time.

    Compares square roots of both in spans of half an hour; a factor between them makes no difference.
    """
    span_s = max(young.window_s, SPAN_S)
    unknown = Likeness(float("nan"), 1.0)
    try:
        own, others = (on_wall(series).resampled(span_s) for series in (young, other))
    except HistoryError:
        return unknown
    level = weekly_profile(others, SQRT, learn_open_hours(others)).level
    expected = level.transformed(own.start, own.counts.size)
    actual = np.sqrt(own.counts)
    known = np.isfinite(actual)
    if known.sum() < MIN_SPANS or _is_level(actual[known]) or _is_level(expected[known]):
        return unknown
    plain = float(np.corrcoef(actual[known], expected[known])[0, 1])
    return Likeness(plain, _chance(actual, expected))


def _is_level(values: Floats) -> bool:
    """Whether nothing but rounding tells them apart, as with the usual week of a source that is idle or steady."""
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def _chance(actual: Floats, expected: Floats) -> float:
    """One-sided p-value of a correlation after removing the residuals' first-order autocorrelation from both."""
    known = np.isfinite(actual)
    slope, middle = np.polyfit(expected[known], actual[known], 1)
    left = actual - (slope * expected + middle)
    pairs = known[1:] & known[:-1]
    if not pairs.any():
        return 1.0
    before, after = left[:-1][pairs], left[1:][pairs]
    power = float(before @ before)
    found = float(before @ after) / power if power > 0 else 0.0
    # Few values underestimate autocorrelation (Kendall 1954).
    wandering = float(np.clip(found + (1 + 3 * found) / pairs.sum(), 0.0, MAX_WANDERING))
    freed_came, freed_expected = ((of[1:] - wandering * of[:-1])[pairs] for of in (actual, expected))
    freedom = int(pairs.sum()) - 3
    if freedom < 1 or np.ptp(freed_came) == 0 or np.ptp(freed_expected) == 0:
        return 1.0
    r = float(np.corrcoef(freed_came, freed_expected)[0, 1])
    return float(scipy.special.stdtr(freedom, -r * np.sqrt(freedom / max(1 - r * r, 1e-12))))


def found_siblings(others: Sequence[Sibling]) -> tuple[Sibling, ...]:
    """Siblings with a significant correlation, most significant first, at most MAX_SIBLINGS. others: all examined."""
    alike = [each for each in others if each.chance < CHANCE / len(others)]
    return tuple(sorted(alike, key=lambda each: each.chance)[:MAX_SIBLINGS])


def is_young(series: ArrivalSeries) -> bool:
    """Whether a source with this history, complete from its first observed window, borrows."""
    known = np.flatnonzero(np.isfinite(series.counts))
    span_s = (series.counts.size - int(known[0])) * series.window_s if known.size else 0
    return MIN_DAYS * DAY_S <= span_s < YOUNG_S
