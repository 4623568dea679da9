"""Raw events to count: ten million a day in Parquet, in the order of their arrival.

About 200 sources have shares by Zipf's law; keys are skewed more. The load has a daily wave, events are up to some
seconds out of order, and 1 % are delivered a second time about a minute later.
"""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SOURCES, KEYS = 200, 20_000
ROWS_PER_DAY = 10_000_000
FIRST_DAY = np.datetime64("2026-03-02", "D")
DAY_US = 86_400_000_000
COPIES = 0.01


def write_events(folder: Path, days: int) -> None:
    """Write the first `days` days that are missing, two files each, with the same contents every time."""
    for day in range(days):
        target = folder / f"date={FIRST_DAY + day}"
        if target.exists():
            continue
        aside = folder / f".{target.name}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for number, part in enumerate(_halves(_of_day(day))):
            pq.write_table(part, aside / f"part-{number}.parquet", row_group_size=1_000_000)
        aside.rename(target)


def _of_day(day: int) -> pa.Table:
    rng = np.random.default_rng([7, day])
    events = round(ROWS_PER_DAY / (1 + COPIES))
    of_day = np.linspace(0, DAY_US, 1441)
    load = np.cumsum(1 + 0.6 * np.sin(2 * np.pi * np.linspace(0, 1, 1441) - 2))
    share = (load - load[0]) / (load[-1] - load[0])
    midnight_us = int(FIRST_DAY.astype("M8[us]").astype(np.int64)) + day * DAY_US
    time_us = np.interp(np.sort(rng.random(events)), share, of_day).astype(np.int64) + midnight_us
    weights = 1 / np.arange(1, SOURCES + 1)
    source = rng.choice(SOURCES, events, p=weights / weights.sum()).astype(np.int32)
    key = np.minimum(rng.zipf(1.3, events) - 1, KEYS - 1).astype(np.int32)
    # Multiples of an odd number modulo 2^64 are all different, and unordered.
    ids = (np.arange(events, dtype=np.uint64) + np.uint64(day * ROWS_PER_DAY)) * np.uint64(0x9E3779B97F4A7C15)
    again = rng.integers(0, events, ROWS_PER_DAY - events)
    came_us = np.concatenate(
        [time_us + rng.exponential(2e6, events), time_us[again] + rng.exponential(60e6, again.size)]
    )
    rows = np.concatenate([np.arange(events), again])[np.argsort(came_us, kind="stable")]
    return pa.table(
        {
            "event_time": pa.array(time_us[rows]).cast(pa.timestamp("us", tz="UTC")),
            "source": _named(source[rows], "source-{:03d}", SOURCES),
            "key": _named(key[rows], "key-{:05d}", KEYS),
            "event_id": ids.view(np.int64)[rows],
        }
    )


def _named(codes: np.ndarray, pattern: str, count: int) -> pa.Array:
    names = pa.array([pattern.format(number) for number in range(count)])
    return pa.DictionaryArray.from_arrays(pa.array(codes), names).cast(pa.string())


def _halves(table: pa.Table) -> list[pa.Table]:
    middle = table.num_rows // 2
    return [table.slice(0, middle), table.slice(middle)]
