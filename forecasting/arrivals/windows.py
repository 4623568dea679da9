"""Events counted per source and window by Spark; copies of an event count once, at the earliest of their times."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark reader knows

from forecasting.arrivals.coverage import Int64s
from forecasting.arrivals.event_source import EventSource
from forecasting.arrivals.events import Events
from forecasting.arrivals.grid import SECOND_US, to_us


@dataclass(frozen=True)
class Bins:
    """What Spark counted for one source, in order of time; bins without events are absent.

    A bin is a window, or a part of one where windows are longer than the silence that tells a dead feed. Shape (bins,):
    bin_us: start; events: distinct events; first_us, last_us: the first and last of them; times in microseconds.
    """

    bin_us: Int64s
    events: Int64s
    first_us: Int64s
    last_us: Int64s

    def window_counts(self, start: datetime, end: datetime, window_s: int) -> Int64s:
        """Events of each window in [start, end), shape (windows,)."""
        width_us = window_s * SECOND_US
        counts = np.zeros((to_us(end) - to_us(start)) // width_us, dtype=np.int64)
        at = (self.bin_us - to_us(start)) // width_us
        inside = (at >= 0) & (at < counts.size)
        np.add.at(counts, at[inside], self.events[inside])
        return counts


def count_events(
    events: Events, source: EventSource, *, window_s: int, start: datetime, end: datetime
) -> tuple[dict[str, Bins], int]:
    """Bins per source, and how many rows (copies included) lie in [start, end).

    start and end lie on the grid of windows. Bins reach source.max_silence_s beyond both ends: whether the feed was
    alive at an end shows in the events on either side of it.
    """
    margin = timedelta(seconds=source.max_silence_s)
    begin = start - margin
    time, us = F.col("event_time"), F.unix_micros("event_time")
    inside = F.when((time >= F.lit(start)) & (time < F.lit(end)), 1).otherwise(0)
    rows = events.frame.where(time <= F.lit(end + margin))
    rows = rows.select("source", "event_id", "event_time", inside.alias("inside"))
    near = rows.where(time >= F.lit(begin))
    if source.columns.id is None:
        rows = near
    elif begin <= events.first:
        rows = _distinct(rows)
    else:
        earlier = rows.where(time < F.lit(begin))
        if source.max_copy_gap_s is not None:
            earlier = earlier.where(time >= F.lit(begin - timedelta(seconds=source.max_copy_gap_s)))
        rows = _distinct(near.unionByName(_copies(earlier, near)))

    # Remainders are faster than window(), and exact; pmod keeps them so before 1970.
    into_window_us = F.pmod(us, F.lit(window_s * SECOND_US))
    longest_us = min(window_s * SECOND_US, max(1, int(source.max_silence_s * SECOND_US)))
    bin_us = F.when(time >= F.lit(begin), us - F.pmod(into_window_us, F.lit(longest_us)))
    counted = (
        rows.groupBy("source", bin_us.alias("bin_us"))
        .agg(
            F.count(F.lit(1)).alias("events"),
            F.min(us).alias("first_us"),
            F.max(us).alias("last_us"),
            F.sum("inside").alias("inside"),
        )
        .toArrow()
    )
    return _by_source(counted), int(pa.compute.sum(counted["inside"]).as_py() or 0)


def _copies(earlier: DataFrame, near: DataFrame) -> DataFrame:
    """The earlier rows of events that came near as well: all that is needed of the past to tell which are copies.

    The ids of what is near are few, so the past is only scanned for them, not shuffled.
    """
    return earlier.join(near.select("source", "event_id"), ["source", "event_id"], "left_semi")


def _distinct(rows: DataFrame) -> DataFrame:
    """One row per event, at the earliest time of its copies. A row without an id is an event of its own."""
    alone = F.when(F.col("event_id").isNull(), F.monotonically_increasing_id())
    return (
        rows.withColumn("alone", alone)
        .groupBy("source", "event_id", "alone")
        .agg(F.min("event_time").alias("event_time"), F.sum("inside").alias("inside"))
    )


def _by_source(counted: pa.Table) -> dict[str, Bins]:
    # A bin is null for events that came before: of them only the copies inside were counted.
    near = counted.filter(pa.compute.is_valid(counted["bin_us"])).sort_by("first_us")
    bins = {}
    for source in sorted(set(counted["source"].to_pylist())):
        of_source = near.filter(pa.compute.equal(near["source"], source))
        bins[source] = Bins(
            *(of_source[name].to_numpy().astype(np.int64) for name in ("bin_us", "events", "first_us", "last_us"))
        )
    return bins
