"""Arrivals of a Heron topology from its tracker's counts per minute of the last three hours.

Heron's topology master collects counts in buckets of 60 s, stamped with their start in seconds since the epoch, on no
grid. A bucket holds the counts reported within it, each for the minute before the report, so a tuple may show up to a
minute late. A bucket without a report shows a count of 0, like one without tuples; the instance's uptime tells them
apart, since every report includes it and it is 0 only without one. Stream managers report no uptime, so a lost report
of backpressure looks like no backpressure.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Unpack

import numpy as np

from engines.heron.tracker import (
    EMITTED,
    KEPT_S,
    MANAGERS,
    MINUTE_S,
    PRESSURE,
    UPTIME,
    Timeline,
    TrackedTopology,
    same_minutes,
)
from engines.http import Connection
from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.coverage import Int64s, merged_spans, spans_without
from forecasting.arrivals.grid import SECOND_US, from_us
from forecasting.arrivals.sources.counter_readings import (
    ReadingGaps,
    alive_together,
    clipped,
    spread_counts,
    window_edges_us,
)
from forecasting.errors import HistoryError

_GAPS = ReadingGaps(max_gap_s=90, ended_after_s=600)


class HeronTracker:
    """Tuples emitted by a topology's spouts: throughput, held back in minutes with backpressure anywhere.

    spouts: source → its spout. streams: source → the streams that together contain each event once; required if the
    spout has several, since an event may be emitted on more than one. role: of the topology, if the tracker requires
    it.
    If an instance of the physical plan has no report left, its source is missing throughout.
    """

    measures, forgets, unsettled_s = Measures.THROUGHPUT, True, _GAPS.unsettled_s

    def __init__(
        self,
        url: str,
        *,
        cluster: str,
        environ: str,
        topology: str,
        spouts: Mapping[str, str],
        role: str | None = None,
        streams: Mapping[str, Sequence[str]] | None = None,
        **connection: Unpack[Connection],
    ) -> None:
        self._tracked = TrackedTopology(
            url, HistoryError, cluster=cluster, environ=environ, topology=topology, role=role, **connection
        )
        self.place = self._tracked.place
        if not spouts:
            raise HistoryError(f"{self.place}: no spouts; name the spout of each source")
        if unknown := sorted(set(streams or {}) - set(spouts)):
            raise HistoryError(f"{self.place}: streams of {unknown[0]!r}, which is no source; correct its name")
        self._spouts, self._streams = dict(spouts), {source: tuple(names) for source, names in (streams or {}).items()}

    def __repr__(self) -> str:
        return f"<{self.place}>"

    def first_moment(self) -> datetime:
        """The oldest kept minute of any spout, at most three hours ago."""
        now = datetime.now(UTC)
        since = now - timedelta(seconds=KEPT_S)
        instances, streams = self._plans()
        known_spans = [
            spans
            for source in self._spouts
            for spans, _ in self._minutes(source, streams[source], instances, since, now).values()
            if spans.size
        ]
        if not known_spans:
            raise HistoryError(f"{self.place} has no counts of {', '.join(self._spouts.values())}; see whether it runs")
        return from_us(min(int(spans[0, 0]) for spans in known_spans))

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        """Counts of whole minutes; a minute cut by a window's edge is shared in proportion to time."""
        if window_s % MINUTE_S:
            raise HistoryError(
                f"{self.place}: windows of {window_s} s; it counts by the minute, so give a multiple of 60"
            )
        edges_us = window_edges_us(start, end, window_s)
        instances, streams = self._plans()
        needed_from_us, needed_to_us = _GAPS.needed_us(edges_us)
        # Read up to now, so that an instance started after the interval is not mistaken for one that never reports.
        since, until = from_us(needed_from_us), max(from_us(needed_to_us), datetime.now(UTC))
        held_back = self._held_back(instances, edges_us, since, until)
        sources = {}
        for source in self._spouts:
            minutes = self._minutes(source, streams[source], instances, since, until)
            counts = np.zeros(edges_us.size - 1, dtype=np.int64)
            rows = np.zeros_like(counts)
            for spans, emitted in minutes.values():
                counts += spread_counts(spans, np.zeros(emitted.size), emitted, edges_us)
                rows += np.diff(np.searchsorted(spans[:, 0], edges_us))
            # Removed instances may lack reports; instances in the plan must have one.
            whole = all(minutes[instance][0].size for instance in instances[self._spouts[source]])
            alive_spans = [np.array(merged_spans(map(tuple, spans.tolist()))) for spans, _ in minutes.values()]
            alive = clipped(alive_together(alive_spans, _GAPS), edges_us) if whole else np.empty((0, 2), dtype=np.int64)
            sources[source] = SourceArrivals(counts, alive, held_back, {"rows_read": rows})
        return Arrivals(start, end, window_s, self.measures, sources)

    def _plans(self) -> tuple[dict[str, list[str]], dict[str, tuple[str, ...]]]:
        """Instances of every component, and the streams to count for every source."""
        physical, logical = self._tracked.plans()
        try:
            instances = {name: list(ids) for name, ids in {**physical["bolts"], **physical["spouts"]}.items()}
            outputs = {
                name: [str(output["stream_name"]) for output in spout["outputs"]]
                for name, spout in logical["spouts"].items()
            }
        except (KeyError, TypeError, AttributeError):
            raise self._tracked.unexpected_plans(physical, logical) from None
        streams = {}
        for source, spout in self._spouts.items():
            if spout not in outputs or spout not in instances:
                known = ", ".join(sorted(outputs)) or "none"
                raise HistoryError(f"{self.place} has no spout {spout!r} for source {source!r}; its spouts are {known}")
            streams[source] = self._streams.get(source, tuple(outputs[spout]))
            if unknown := sorted(set(streams[source]) - set(outputs[spout])):
                known = ", ".join(outputs[spout]) or "none"
                raise HistoryError(
                    f"{self.place}: spout {spout!r} has no stream {unknown[0]!r}; its streams are {known}"
                )
            if len(streams[source]) != 1 and source not in self._streams:
                raise HistoryError(
                    f"{self.place}: spout {spout!r} has {len(outputs[spout])} streams ({', '.join(outputs[spout])}), "
                    f"and an event may be on several; name in `streams` those that carry each event of {source!r} once"
                )
        return instances, streams

    def _minutes(
        self,
        source: str,
        streams: Sequence[str],
        instances: Mapping[str, list[str]],
        since: datetime,
        until: datetime,
    ) -> dict[str, tuple[Int64s, np.ndarray]]:
        """Per instance the reported minutes, shape (minutes, 2) in µs, and the tuples emitted in each."""
        spout = self._spouts[source]
        timeline = self._timeline(spout, [*(EMITTED + stream for stream in streams), UPTIME], since, until)
        seen = {instance for by_instance in timeline.values() for instance in by_instance}
        minutes = {}
        for instance in sorted(seen | set(instances[spout])):
            by_metric = {metric: by_instance.get(instance, {}) for metric, by_instance in timeline.items()}
            groups = same_minutes(stamp for values in by_metric.values() for stamp in values)
            spans, emitted = [], []
            for number, stamps in enumerate(groups):
                counts = [by_metric[metric].get(stamp) for metric in by_metric if metric != UPTIME for stamp in stamps]
                uptimes = [by_metric.get(UPTIME, {}).get(stamp, 0.0) for stamp in stamps]
                count = sum(value for value in counts if value is not None)
                if count > 0 or max(uptimes) > 0:
                    spans.append(_span_us(groups, number))
                    emitted.append(count)
            minutes[instance] = (np.array(spans, dtype=np.int64).reshape(-1, 2), np.array(emitted, dtype=np.float64))
        return minutes

    def _held_back(
        self, instances: Mapping[str, list[str]], edges_us: Int64s, since: datetime, until: datetime
    ) -> Int64s:
        """Minutes in which any instance caused backpressure, and minutes that no stream manager reported."""
        metrics = [PRESSURE + instance for ids in instances.values() for instance in ids]
        timeline = self._timeline(MANAGERS, metrics, since, until)
        free: list[tuple[int, int]] = []
        pressed: list[tuple[int, int]] = []
        for by_manager in timeline.values():
            for values in by_manager.values():
                groups = same_minutes(values)
                for number, stamps in enumerate(groups):
                    spans = pressed if max(values[stamp] for stamp in stamps) > 0 else free
                    spans.append(_span_us(groups, number))
        interval = np.array([[edges_us[0], edges_us[-1]]], dtype=np.int64)
        surely_free = spans_without(merged_spans(free), merged_spans(pressed))
        return clipped(spans_without(interval, surely_free), edges_us)

    def _timeline(self, component: str, metrics: Sequence[str], since: datetime, until: datetime) -> Timeline:
        return self._tracked.timeline(component, metrics, math.floor(since.timestamp()), math.ceil(until.timestamp()))


def _span_us(groups: Sequence[Sequence[int]], number: int) -> tuple[int, int]:
    """From a minute's stamp to the next one's, or one minute long if there is no next one."""
    begin_s = groups[number][0]
    end_s = begin_s + MINUTE_S
    if number + 1 < len(groups) and groups[number + 1][0] <= end_s + MINUTE_S // 2:
        end_s = groups[number + 1][0]
    return begin_s * SECOND_US, end_s * SECOND_US
