"""Arrivals of a Storm topology, from counters that Storm's UI shows but does not keep.

Every reading is therefore logged, and counts come from the log: without regular readings there is no history. Stores
each executor's lifetime emit count and uptime: in a sum, one worker's restart would look like lost data. An executor
starts at zero, so a restart loses only the events between the last reading and its end.

Storm samples: it counts one tuple in twenty (topology.stats.sample.rate 0.05) as twenty, so counts are multiples of 20
and correct only on average.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from engines.http import Connection
from engines.storm.ui import StormPages, component_path, topology_path
from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.coverage import Int64s, merged_spans
from forecasting.arrivals.grid import SECOND_US, to_us
from forecasting.arrivals.sources.counter_readings import (
    CounterReadings,
    ReadingGaps,
    clipped,
    total_of,
    window_edges_us,
)
from forecasting.arrivals.sources.reading_log import Reading, ReadingLog
from forecasting.arrivals.sources.steady import Recorded
from forecasting.errors import HistoryError

CAPACITY_US = 600 * SECOND_US
"""Window of a bolt's capacity, which is its busy share of the last ten minutes."""


class StormUi:
    """Tuples emitted by a topology's spouts: throughput, from logged readings.

    topology: its name; its id changes with every submission and is looked up. spouts: source → spout id. log: folder of
    this topology's readings. max_gap_s: longest known gap between two readings, a few times their interval.
    ended_after_s: an executor silent for longer has ended; None: ten minutes, or max_gap_s if larger.
    saturated_capacity: a bolt with at least this capacity is taken to have held the spouts back during the capacity's
    ten minutes. This is evidence, not proof: Storm's UI shows neither backpressure nor spouts at max.spout.pending.
    """

    measures, forgets = Measures.THROUGHPUT, True

    def __init__(
        self,
        url: str,
        topology: str,
        spouts: Mapping[str, str],
        log: Path,
        *,
        max_gap_s: float = 180.0,
        ended_after_s: float | None = None,
        saturated_capacity: float = 0.9,
        **connection: Unpack[Connection],
    ) -> None:
        part = f"topology {topology}, readings in {log}"
        self._pages = StormPages(url, HistoryError, window=":all-time", part=part, **connection)
        self.place = self._pages.place
        if not spouts:
            raise HistoryError(f"{self.place}: no spouts; name the spout of each source")
        if not saturated_capacity > 0:
            raise HistoryError(
                f"{self.place}: saturated_capacity {saturated_capacity}; give a share of time such as 0.9"
            )
        self._gaps = ReadingGaps(max_gap_s, max(600.0, max_gap_s) if ended_after_s is None else ended_after_s)
        self.unsettled_s = self._gaps.unsettled_s
        self._topology, self._spouts, self._saturated = topology, dict(spouts), saturated_capacity
        self._log = ReadingLog(log)

    def __repr__(self) -> str:
        return f"<{self.place}>"

    def record(self, now: datetime) -> Recorded:
        """Read the UI once and append to the log. Records nothing for a topology that does not run."""
        to_us(now)
        topology_id = self._pages.topology_id(self._topology)
        page = self._pages.page(topology_path(topology_id))
        emitted: dict[str, dict[str, list[int]]] = {}
        try:
            capacities = [float(bolt["capacity"] or 0) for bolt in page["bolts"]]
            known = sorted(str(spout["spoutId"]) for spout in page["spouts"])
        except (KeyError, TypeError, ValueError):
            raise self._pages.surprise(topology_path(topology_id), page) from None
        for source, spout in self._spouts.items():
            if spout not in known:
                named = ", ".join(known) or "none"
                raise HistoryError(f"{self.place} has no spout {spout!r} for source {source!r}; its spouts are {named}")
            path = component_path(topology_id, spout)
            component = self._pages.page(path)
            try:
                emitted[spout] = {
                    str(executor["id"]): [int(executor["emitted"] or 0), int(executor["uptimeSeconds"] or 0)]
                    for executor in component["executorStats"]
                }
            except (KeyError, TypeError, ValueError):
                raise self._pages.surprise(path, component) from None
        capacity = max(capacities, default=0.0)
        content = {"topology": self._topology, "id": topology_id, "capacity": capacity, "emitted": emitted}
        added = self._log.append(Reading(now, content))
        totals = ", ".join(f"{spout} {sum(count for count, _ in by.values())}" for spout, by in emitted.items())
        remark = "" if added else "; not recorded: there is a reading of that moment or later"
        line = f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: emitted {totals}, largest capacity {capacity:g}{remark}"
        return Recorded(now.astimezone(UTC), line, added)

    def first_moment(self) -> datetime:
        """When the first reading was recorded."""
        reading = self._log.first()
        if reading is None:
            raise self._nothing()
        return reading.at

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        """Counts from the log only; the UI is not queried."""
        edges_us = window_edges_us(start, end, window_s)
        if self._log.first() is None:
            raise self._nothing()
        begin_us, end_us = self._gaps.needed_us(edges_us)
        readings = self._log.between(begin_us, max(end_us, int(edges_us[-1]) + CAPACITY_US))
        held_back = self._held_back(readings, edges_us)
        sources = {}
        for source, spout in self._spouts.items():
            try:
                total = total_of(self._counters(readings, spout), edges_us, self._gaps)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise HistoryError(
                    f"{self.place}: a reading of spout {spout!r} does not match its record ({error}); "
                    "give every topology a folder of its own"
                ) from None
            sources[source] = SourceArrivals(total.counts, total.alive, held_back, total.tallies)
        return Arrivals(start, end, window_s, self.measures, sources)

    def _counters(self, readings: Sequence[Reading], spout: str) -> list[CounterReadings]:
        """One counter per executor, through its restarts."""
        executors: dict[str, tuple[list[int], list[float]]] = {}
        for reading in readings:
            content: Any = reading.content
            if content["topology"] != self._topology:
                raise ValueError(f"it is of topology {content['topology']!r}")
            at_us = to_us(reading.at)
            for executor, (emitted, uptime_s) in content["emitted"].get(spout, {}).items():
                if uptime_s <= 0:
                    # The UI shows zeros until the worker's first report.
                    continue
                times, values = executors.setdefault(executor, ([], []))
                began_us = at_us - uptime_s * SECOND_US
                if not times or began_us > times[-1]:
                    times.append(began_us)
                    values.append(0.0)
                times.append(at_us)
                values.append(float(emitted))
        return [
            CounterReadings(np.array(times, dtype=np.int64), np.array(values)) for times, values in executors.values()
        ]

    def _held_back(self, readings: Sequence[Reading], edges_us: Int64s) -> Int64s:
        saturated = []
        for reading in readings:
            capacity = reading.content.get("capacity")
            # A reading without capacities cannot rule out that spouts were held back.
            if not isinstance(capacity, int | float) or capacity >= self._saturated:
                saturated.append((to_us(reading.at) - CAPACITY_US, to_us(reading.at)))
        return clipped(merged_spans(saturated), edges_us)

    def _nothing(self) -> HistoryError:
        return HistoryError(
            f"{self.place} has no reading yet; run `forescale history record {self._topology}` steadily, "
            "since Storm's UI keeps no history"
        )
