"""Finds the copies that at-least-once delivery makes: rows whose id came before, in the same source, not long ago."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from forecasting.arrivals.counting.event_batch import EventBatch, hashed
from forecasting.arrivals.counting.tally import TALLY, Bins, TallyKind, Triage
from forecasting.arrivals.coverage import Int64s

_FILTER_BITS = 20
"""A table of 2^20 bytes stays in the cache, and passes few of the rows that are no copies."""


def identified_rows(
    batch: EventBatch, triage: Triage, bins: Bins, gap_us: int, buckets: int
) -> Iterator[tuple[int, pa.Table]]:
    """The rows that are or may have copies, as (bucket, table); rows of one id always come to the same bucket.

    Tables hold the columns key (uint64: source and id), time_us, source, and weight where there is one. They reach
    gap_us back before the bins, for originals that came before.
    """
    if batch.ids is None or batch.time_us.size == 0:
        return
    time_us = batch.time_us
    chosen = (time_us >= bins.low_us - gap_us) & (time_us < bins.high_us)
    for _, rows in triage.set_aside:
        chosen[rows] = False
    if batch.identified is not None:
        chosen &= batch.identified
    of_source = hashed(pa.array(batch.source.names, pa.string()))
    key = batch.ids ^ of_source[batch.source.codes]
    at = np.flatnonzero(chosen)
    # The high bits choose the bucket, the low ones are left to tell rows apart within it.
    bucket = ((key[at] >> np.uint64(48)) * np.uint64(buckets) >> np.uint64(16)).astype(np.uint16)
    at = at[np.argsort(bucket, kind="stable")]
    edges = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=buckets))])
    key, time_us, codes = key[at], time_us[at], batch.source.codes[at]
    weight = None if batch.weight is None else batch.weight[at]
    names = pa.array(batch.source.names, pa.string())
    for number in range(buckets):
        of_bucket = slice(edges[number], edges[number + 1])
        if edges[number] < edges[number + 1]:
            columns = {
                "key": key[of_bucket],
                "time_us": time_us[of_bucket],
                "source": pa.DictionaryArray.from_arrays(pa.array(codes[of_bucket]), names),
            }
            if weight is not None:
                columns["weight"] = weight[of_bucket]
            yield number, pa.table(columns)


def copies(rows: Iterable[pa.Table], bins: Bins, gap_us: int) -> pa.Table:
    """What the copies among the rows of one bucket take from the counts, as a tally: of each copy, at its own time.

    A copy is a row with the key of a row at most gap_us before it; of equal times one is the original.
    """
    whole = pa.concat_tables(rows).unify_dictionaries().combine_chunks()
    if whole.num_rows == 0:
        return TALLY.empty_table()
    key, time_us = whole["key"].to_numpy(), whole["time_us"].to_numpy()
    source = whole["source"].chunk(0)
    codes = source.indices.to_numpy()
    again = _rows_of_repeated_keys(key)
    weight = whole["weight"].to_numpy() if "weight" in whole.column_names else None
    # Of equal times the largest weight is the original, so that the order of rows does not matter.
    ties = () if weight is None else (-weight[again],)
    again = again[np.lexsort((*ties, time_us[again], codes[again], key[again]))]
    same = (np.diff(key[again]) == 0) & (np.diff(codes[again]) == 0) & (np.diff(time_us[again]) <= gap_us)
    copy = again[1:][same]
    copy = copy[(time_us[copy] >= bins.low_us) & (time_us[copy] < bins.high_us)]
    taken = np.full(copy.size, -1) if weight is None else -weight[copy]
    dictionary = pa.DictionaryArray.from_arrays(pa.array(codes[copy]), source.dictionary)
    at = bins.of(time_us[copy]).astype(np.int32)
    return pa.concat_tables(
        pa.table([dictionary, at, np.full(copy.size, of, np.int8), numbers], schema=TALLY)
        for of, numbers in ((TallyKind.COUNT, taken), (TallyKind.DUPLICATES, np.ones(copy.size, np.int64)))
    )


def _rows_of_repeated_keys(key: np.ndarray) -> Int64s:
    """Rows whose key may occur more than once: all that do, and a few that do not.

    Sorting bare numbers is many times faster than grouping them, and copies are few: only their rows are looked at.
    """
    ordered = np.sort(key)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    mask = np.uint64((1 << _FILTER_BITS) - 1)
    suspect = np.zeros(1 << _FILTER_BITS, bool)
    suspect[repeated & mask] = True
    return np.flatnonzero(suspect[key & mask])
