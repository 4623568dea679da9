"""From raw events to the arrival history of a topology, in one pass."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute

from forecasting.arrivals.coverage import Int64s, read_coverage, spans_between_events
from forecasting.arrivals.event_source import EventSource
from forecasting.arrivals.grid import SECOND_US, whole_windows
from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forecasting.arrivals.windows import Bins


@dataclass(frozen=True)
class HistorySummary:
    """What became of the events of [start, end), the interval snapped to whole windows.

    rows_read: rows in the interval. duplicates_dropped: of these, copies of an event counted elsewhere. kept: distinct
    events, the sum of all counts. observed, partial, missing: windows, over all sources. per_source: events kept.
    seconds: wall clock.
    """

    topology: str
    start: datetime
    end: datetime
    window_s: int
    rows_read: int
    duplicates_dropped: int
    kept: int
    observed: int
    partial: int
    missing: int
    per_source: Mapping[str, int]
    seconds: float


def build_history(
    spark: "SparkSession",
    source: EventSource,
    *,
    topology: str,
    window_s: int,
    start: datetime | None,
    end: datetime,
    out_dir: Path,
) -> HistorySummary:
    """Count the events of [start, end) and make that interval of the topology's history in out_dir anew.

    start: None for midnight UTC of the first event's day. The counts of all windows add up to the distinct events whose
    earliest copy lies in the interval. Sources are those of the coverage file and of the events.
    Raises HistoryError, before anything is written, for events or coverage that cannot be used.
    """
    from forecasting.arrivals.events import read_events, reading
    from forecasting.arrivals.windows import count_events

    began = time.perf_counter()
    coverage = None if source.coverage is None else read_coverage(source.coverage, source.timezone)
    events = read_events(spark, source)
    if start is None:
        start = events.first.replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = whole_windows(start, end, window_s)
    with reading(source):
        bins, rows_read = count_events(events, source, window_s=window_s, start=start, end=end)
    spans = _alive(bins, source, coverage)
    no_events = np.zeros(int((end - start).total_seconds()) // window_s, dtype=np.int64)
    counts = {name: bins[name].window_counts(start, end, window_s) if name in bins else no_events for name in spans}
    rows = pa.concat_tables(
        history_rows(topology, name, counts[name], spans[name], start=start, window_s=window_s)
        for name in sorted(spans)
    )
    write_history(rows, out_dir, topology, start, end)

    per_source = {name: int(counts[name].sum()) for name in sorted(counts)}
    kept = sum(per_source.values())
    windows = dict(zip(*(column.to_pylist() for column in rows["status"].value_counts().flatten()), strict=True))
    return HistorySummary(
        topology=topology,
        start=start,
        end=end,
        window_s=window_s,
        rows_read=rows_read,
        duplicates_dropped=rows_read - kept,
        kept=kept,
        observed=windows.get(OBSERVED, 0),
        partial=windows.get(PARTIAL, 0),
        missing=windows.get(MISSING, 0),
        per_source=per_source,
        seconds=time.perf_counter() - began,
    )


def _alive(
    bins: "Mapping[str, Bins]", source: EventSource, coverage: Mapping[str, Int64s] | None
) -> Mapping[str, Int64s]:
    """When each source was alive: as the coverage file says, or else as its events show."""
    if coverage is None:
        silence_us = int(source.max_silence_s * SECOND_US)
        return {name: spans_between_events(b.first_us, b.last_us, silence_us) for name, b in bins.items()}
    if unknown := sorted(set(bins) - set(coverage)):
        raise HistoryError(
            f"events in {source.path} come from source {unknown[0]!r}, which coverage file {source.coverage} does not "
            f"list ({', '.join(sorted(coverage))}); add when it was alive, or correct its name"
        )
    return coverage
