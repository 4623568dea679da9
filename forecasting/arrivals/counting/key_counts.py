"""Key frequencies per source and UTC day: one count per heavy key, one for all others together.

Each task counts all its keys and passes on the heaviest (Misra and Gries 1982, in batches). Dropped counts go to the
residual, and the largest dropped count bounds the error of a heavy key.
"""

from collections.abc import Iterable
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute

from forecasting.arrivals.arrival_source import DailyKeyCounts
from forecasting.arrivals.counting.event_batch import EventBatch
from forecasting.arrivals.counting.tally import Bins, Triage
from forecasting.arrivals.grid import DAY_S, EPOCH, SECOND_US

KEYS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("day", pa.int32()),
        pa.field("key", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("lacking", pa.int64()),
    ]
)
"""day: days since the epoch. key: null for the residual. lacking: in the residual's row, the error bound of a heavy
key.
"""
CARRIED = 2000
"""Keys per source and day passed between tasks; the history keeps fewer."""
HEAVY = 50


def key_counts(batch: EventBatch, triage: Triage, bins: Bins) -> pa.Table:
    """Events per source, day and key of a batch that count and lie in the interval. Copies are not removed."""
    if batch.key is None:
        return KEYS.empty_table()
    chosen = (batch.time_us >= bins.begin_us) & (batch.time_us < bins.end_us)
    if triage.counted is not None:
        chosen &= triage.counted
    key, source = batch.key.codes[chosen].astype(np.int64), batch.source.codes[chosen].astype(np.int64)
    # A window belongs to the day on which it starts, and its events with it.
    day = batch.time_us[chosen] // bins.window_us * bins.window_us // (DAY_S * SECOND_US)
    if key.size == 0:
        return KEYS.empty_table()
    low, days, keys = int(day.min()), int(np.ptp(day)) + 1, len(batch.key.names) + 1
    cells, group = np.unique((source * days + (day - low)) * keys + key + 1, return_inverse=True)
    weight = None if batch.weight is None else batch.weight[chosen]
    numbers = np.bincount(group, weight).astype(np.int64)
    owner, key = np.divmod(cells, keys)
    source, day = np.divmod(owner, days)
    return pa.table(
        [
            pa.array(batch.source.names, pa.string()).take(pa.array(source)),
            (low + day).astype(np.int32),
            pa.array([None, *batch.key.names], pa.string()).take(pa.array(key)),
            numbers,
            np.zeros(numbers.size, np.int64),
        ],
        schema=KEYS,
    )


def merged_keys(tables: Iterable[pa.Table], kept: int = CARRIED) -> pa.Table:
    """The same counts with one row per source, day and key, and at most `kept` keys per day."""
    whole = pa.concat_tables([KEYS.empty_table(), *tables])
    if whole.num_rows == 0:
        return whole
    summed = whole.group_by(["source", "day", "key"]).aggregate([("number", "sum"), ("lacking", "sum")])
    summed = summed.rename_columns(KEYS.names).sort_by(
        [("source", "ascending"), ("day", "ascending"), ("number", "descending"), ("key", "ascending")]
    )
    source = summed["source"].combine_chunks().dictionary_encode().indices.to_numpy()
    day = summed["day"].to_numpy()
    heavy = summed["key"].is_valid().to_numpy()
    first = np.concatenate([[True], (np.diff(source) != 0) | (np.diff(day) != 0)])
    group = np.cumsum(first) - 1
    # Rank of each row among the keys of its day.
    before = np.cumsum(heavy) - heavy
    rank = before - before[first][group]
    keep = heavy & (rank < kept)
    numbers = summed["number"].to_numpy()
    rest = np.bincount(group, np.where(keep, 0, numbers)).astype(np.int64)
    lacking = np.bincount(group, summed["lacking"].to_numpy()).astype(np.int64)
    np.add.at(lacking, group[heavy & (rank == kept)], numbers[heavy & (rank == kept)])
    at = np.flatnonzero(first)
    residual = pa.table(
        [summed["source"].take(at), day[at], pa.nulls(at.size, pa.string()), rest, lacking], schema=KEYS
    )
    return pa.concat_tables([summed.filter(pa.array(keep)).cast(KEYS), residual])


def key_histograms(counts: Iterable[pa.Table], heavy: int = HEAVY) -> tuple[DailyKeyCounts, ...]:
    """Histograms of the heaviest keys per source and day."""
    found: dict[tuple[str, date], dict[str, int]] = {}
    distinct: dict[tuple[str, date], int] = {}
    residuals: dict[tuple[str, date], tuple[int, int]] = {}
    for row in merged_keys(counts).sort_by([("number", "descending"), ("key", "ascending")]).to_pylist():
        at = row["source"], (EPOCH + timedelta(days=row["day"])).date()
        keys = found.setdefault(at, {})
        rest, lacking = residuals.get(at, (0, 0))
        distinct[at] = distinct.get(at, 0) + (row["key"] is not None and row["number"] > 0)
        if row["key"] is not None and len(keys) < heavy:
            keys[row["key"]] = row["number"]
        else:
            residuals[at] = rest + row["number"], lacking + row["lacking"]
    return tuple(
        # Without an error bound no key was dropped on the way.
        DailyKeyCounts(*at, keys, rest, lacking, None if lacking else distinct[at])
        for at, keys in sorted(found.items())
        for rest, lacking in [residuals.get(at, (0, 0))]
    )
