"""Which other sources a young source may borrow its shape from: those its file names, else those that look like it.

Loads wander, so that any two stretches of a few hours go together or against each other: a plain correlation says
little. It counts only as far as the hours tell beyond that. Both series are freed of the young source's own wandering
(Cochrane and Orcutt 1949) before their correlation is tested, and the more sources are looked through, the stricter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from scipy.special import stdtr

from forecasting.arrays import Floats
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.local_time import on_wall_grid
from forecasting.models.borrowed_forecaster import LEAST_DAYS, LEAST_SIBLING_DAYS
from forecasting.models.enough_history import why_too_little
from forecasting.models.open_hours import learn_open_hours
from forecasting.models.time_grid import DAY_S
from forecasting.models.transform import SQRT
from forecasting.models.weekly_profile import weekly_profile

YOUNG_S = 14 * DAY_S
"""From then on nothing is borrowed: with two weeks of its own a source has every forecaster and a record of each."""
FOUND_FROM_S = DAY_S
"""Before, siblings are only named: hours of half a day go up and down like too many others. Of those found by them some
lost to persistence (benchmarks/cold_start.py)."""
LENT_S = 56 * DAY_S
"""So much of its history a sibling shows: eight weeks, as a topology file has it where it says nothing else."""
MAX_SIBLINGS = 3
CHANCE = 0.01
"""Of taking any source by chance, however many are looked through."""
SPAN_S = 1800
FEWEST_SPANS = 6
MAX_WANDERING = 0.98


@dataclass(frozen=True)
class Likeness:
    """correlation: of the young source's rate with the other's usual week at the same times, NaN where nothing tells.

    chance: probability of so high a one where they have nothing to do with each other.
    """

    correlation: float
    chance: float


@dataclass(frozen=True)
class LentShape:
    """Where a shape is borrowed from, as it is kept with what was trained.

    timezone: whose clock the sibling's days go by; outages: start and end of those left out of its series. snapshot:
    the commit of the store that it was read from, empty where it came from no store. digest: of its series as it was
    seen. correlation: with the young source, NaN where nothing tells. named: whether the topology file names it.
    """

    topology: str
    source: str
    timezone: str
    outages: tuple[tuple[datetime, datetime], ...]
    snapshot: str
    digest: str
    correlation: float
    named: bool

    def told(self) -> str:
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
    """What a young source borrows. series: of the shapes, in their order; empty where what was trained is asked.

    notes: what a reader must know of siblings that lend nothing.
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
    """Why a series is too short or too sparse to lend its shape, or None where it is not."""
    return why_too_little(series, LEAST_SIBLING_DAYS)


def likeness(young: ArrivalSeries, other: ArrivalSeries) -> Likeness:
    """How alike a young source is to the usual week of another one, each by its own clock.

    Square roots of both are compared, in spans of half an hour: a factor between them makes no difference.
    """
    span_s = max(young.window_s, SPAN_S)
    unknown = Likeness(float("nan"), 1.0)
    try:
        own, others = (_on_wall(series).resampled(span_s) for series in (young, other))
    except HistoryError:
        return unknown
    level = weekly_profile(others, SQRT, learn_open_hours(others)).level
    expected = level.transformed(own.start, own.counts.size)
    came = np.sqrt(own.counts)
    known = np.isfinite(came)
    if known.sum() < FEWEST_SPANS or np.ptp(came[known]) == 0 or np.ptp(expected[known]) == 0:
        return unknown
    plain = float(np.corrcoef(came[known], expected[known])[0, 1])
    return Likeness(plain, _chance(came, expected))


def _chance(came: Floats, expected: Floats) -> float:
    """One-sided p of a correlation once the first-order wandering of what it leaves is taken out of both."""
    known = np.isfinite(came)
    slope, middle = np.polyfit(expected[known], came[known], 1)
    left = came - (slope * expected + middle)
    pairs = known[1:] & known[:-1]
    if not pairs.any():
        return 1.0
    before, after = left[:-1][pairs], left[1:][pairs]
    power = float(before @ before)
    found = float(before @ after) / power if power > 0 else 0.0
    # What few values show of wandering is too little (Kendall 1954).
    wandering = float(np.clip(found + (1 + 3 * found) / pairs.sum(), 0.0, MAX_WANDERING))
    freed_came, freed_expected = ((of[1:] - wandering * of[:-1])[pairs] for of in (came, expected))
    freedom = int(pairs.sum()) - 3
    if freedom < 1 or np.ptp(freed_came) == 0 or np.ptp(freed_expected) == 0:
        return 1.0
    r = float(np.corrcoef(freed_came, freed_expected)[0, 1])
    return float(stdtr(freedom, -r * np.sqrt(freedom / max(1 - r * r, 1e-12))))


def found_siblings(others: Sequence[Sibling]) -> tuple[Sibling, ...]:
    """Those whose likeness chance does not explain, the surest first, at most MAX_SIBLINGS. others: all looked at."""
    alike = [each for each in others if each.chance < CHANCE / len(others)]
    return tuple(sorted(alike, key=lambda each: each.chance)[:MAX_SIBLINGS])


def is_young(series: ArrivalSeries) -> bool:
    """Whether a source with this history, all of it from the first window that was observed, borrows."""
    known = np.flatnonzero(np.isfinite(series.counts))
    span_s = (series.counts.size - int(known[0])) * series.window_s if known.size else 0
    return LEAST_DAYS * DAY_S <= span_s < YOUNG_S


def _on_wall(series: ArrivalSeries) -> ArrivalSeries:
    return series if series.timezone == UTC_NAME else on_wall_grid(series, series.timezone)[0]
