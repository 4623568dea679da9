"""How far a stretch of the history can be trusted: outcomes of its rows, and statuses of its windows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa

from forecasting.arrays import Ints
from forecasting.arrivals.arrival_source import QUARANTINED, TALLIES
from forecasting.arrivals.grid import SECOND_US, from_us, to_us
from forecasting.arrivals.history import OBSERVED, PARTIAL, THROTTLED
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrow_columns import integers, words
from forecasting.errors import HistoryError

_SUMMED = ("count", *TALLIES)


@dataclass(frozen=True)
class SourceQuality:
    """Quality of one source, or of all together. rows_read: all rows read, including those below if the source reports
    them.

    kept: events that count. duplicates, late: rows. quarantined: by reason. observed, partial, throttled, missing:
    windows; those never written are missing.
    """

    rows_read: int
    kept: int
    duplicates: int
    late: int
    quarantined: Mapping[str, int]
    observed: int
    partial: int
    throttled: int
    missing: int

    @property
    def windows(self) -> int:
        return self.observed + self.partial + self.throttled + self.missing

    @property
    def complete(self) -> float:
        """Share of the windows that were observed, 0 to 1."""
        return self.observed / self.windows


@dataclass(frozen=True)
class Quality:
    """Quality of the whole windows between start and end, by source and in total, in the commit `snapshot`."""

    topology: str
    start: datetime
    end: datetime
    window_s: int
    snapshot: str
    sources: Mapping[str, SourceQuality]
    total: SourceQuality

    @property
    def complete(self) -> float:
        """Share of all windows that were observed, 0 to 1."""
        return self.total.complete


def quality(
    directory: Directory,
    topology: str,
    start: datetime,
    end: datetime,
    snapshot: str | None = None,
    sources: Collection[str] | None = None,
) -> Quality:
    """The quality of the windows that lie wholly in [start, end).

    snapshot: the commit to read, None for the one in force. sources: those expected, missing throughout if without a
    row; None for the sources with rows in the interval.
    Raises HistoryError for an unknown topology or snapshot, and for an interval without a window or, if no sources are
    named, without a row.
    """
    read = partial(rows_between, start=start, end=end, sources=sources, columns=("source", "status", *_SUMMED))
    manifest, rows = read_commit(directory, topology, snapshot, read)
    width_us = manifest.window_s * SECOND_US
    first_us, last_us = -(-to_us(start) // width_us) * width_us, to_us(end) // width_us * width_us
    windows = (last_us - first_us) // width_us
    if windows <= 0:
        raise HistoryError(f"no window of {manifest.window_s} s lies between {start} and {end}; give a longer interval")
    codes, held = words(rows["source"])
    sums = _sums(rows, codes, held)
    statuses = _statuses(rows, codes, held)
    names = sorted({*sums, *(sources or ())})
    by_source = {name: _of_source(sums.get(name, {}), statuses, name, windows) for name in names}
    return Quality(
        topology=topology,
        start=from_us(first_us),
        end=from_us(last_us),
        window_s=manifest.window_s,
        snapshot=manifest.snapshot,
        sources=by_source,
        total=_added_up(by_source.values()),
    )


def _sums(rows: pa.Table, codes: Ints, sources: Sequence[str]) -> dict[str, dict[str, int]]:
    """The sum of each number by source. codes: which source each row is of."""
    summed = {name: np.zeros(len(sources), dtype=np.int64) for name in _SUMMED}
    for name, of_source in summed.items():
        np.add.at(of_source, codes, integers(rows[name]))
    return {source: {name: int(each[at]) for name, each in summed.items()} for at, source in enumerate(sources)}


def _statuses(rows: pa.Table, codes: Ints, sources: Sequence[str]) -> dict[tuple[str, str], int]:
    """Windows by source and status. codes: as in _sums."""
    of_row, states = words(rows["status"])
    counts = np.bincount(codes * len(states) + of_row, minlength=len(sources) * len(states))
    return dict(zip(product(sources, states), counts.tolist(), strict=True))


def _of_source(
    sums: Mapping[str, int], statuses: Mapping[tuple[str, str], int], source: str, windows: int
) -> SourceQuality:
    observed, partial_, throttled = (statuses.get((source, status), 0) for status in (OBSERVED, PARTIAL, THROTTLED))
    return SourceQuality(
        rows_read=sums.get("rows_read", 0),
        kept=sums.get("count", 0),
        duplicates=sums.get("duplicates", 0),
        late=sums.get("late", 0),
        quarantined={reason: sums.get(reason, 0) for reason in QUARANTINED},
        observed=observed,
        partial=partial_,
        throttled=throttled,
        missing=windows - observed - partial_ - throttled,
    )


def _added_up(sources: Iterable[SourceQuality]) -> SourceQuality:
    every = list(sources)
    names = [each.name for each in fields(SourceQuality) if each.name != "quarantined"]
    return SourceQuality(
        **{name: sum(getattr(one, name) for one in every) for name in names},
        quarantined={reason: sum(one.quarantined[reason] for one in every) for reason in QUARANTINED},
    )
