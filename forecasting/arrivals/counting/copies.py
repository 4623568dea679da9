"""Finds the copies made by at-least-once delivery: rows whose id occurred shortly before in the same source."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from forecasting.arrivals.counting.event_batch import EventBatch, hashed
from forecasting.arrivals.counting.tally import TALLY, Bins, TallyKind, Triage
from forecasting.arrivals.coverage import Int64s

_FILTER_BITS = 20
"""A table of 2^20 bytes stays in the cache and lets few rows pass that are not copies."""


def identified_rows(
    batch: EventBatch, triage: Triage, bins: Bins, gap_us: int, buckets: int
) -> Iterator[tuple[int, pa.Table]]:
    """The rows that are or may have copies, as (bucket, table); rows with the same id share a bucket.

    Tables have the columns key (uint64: source and id), time_us, source and, if present, weight. They reach back gap_us
    before the bins, to include earlier originals.
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
    # The high bits choose the bucket; the low ones distinguish rows within it.
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
    """The tally of copies in one bucket, to be subtracted from the counts at each copy's own time.

    A copy has the same key as a row at most gap_us earlier; of rows with equal times, one is the original.
    """
    whole = pa.concat_tables(rows).unify_dictionaries().combine_chunks()
    if whole.num_rows == 0:
        return TALLY.empty_table()
    key, time_us = whole["key"].to_numpy(), whole["time_us"].to_numpy()
    source = whole["source"].chunk(0)
    codes = source.indices.to_numpy()
    again = _rows_of_repeated_keys(key)
    weight = whole["weight"].to_numpy() if "weight" in whole.column_names else None
    # Of equal times the largest weight is the original, so the order of rows does not matter.
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
    """Rows whose key may be repeated: all that are, and a few that are not.

    Sorting plain numbers is many times faster than grouping them, and only the few repeated rows are examined.
    """
    ordered = np.sort(key)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    mask = np.uint64((1 << _FILTER_BITS) - 1)
    suspect = np.zeros(1 << _FILTER_BITS, bool)
    suspect[repeated & mask] = True
    return np.flatnonzero(suspect[key & mask])
