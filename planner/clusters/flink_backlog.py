"""The backlog of a source, by the metric `pendingRecords` of its connector (FLIP-33)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engines.flink.answers import Vertex
from engines.flink.rest import POLL_S, FlinkRest
from planner.clock import Clock
from planner.clusters.cluster import SourceBacklog, Taken

# Their sum is a subtask's age: Flink counts as busy what is neither idle nor backpressured.
_AGE = ("accumulateBusyTimeMs", "accumulateIdleTimeMs", "accumulateBackPressuredTimeMs")
# Flink collects metrics every 10 s by default, so two successive collections are this far apart.
_SPAN_S = 8.0
# From this many random arrivals the rate is known within 10 %; a slow source is read for longer.
_ENOUGH = 100.0
_PATIENCE_S = 40.0
_PENDING, _READ, _GIVEN = ".pendingRecords", ".numRecordsIn", ".numRecordsOut"


@dataclass(frozen=True)
class QueueReading:
    """All subtasks of a source at one moment. age_s: mean time since those began that still run. pending: waiting
    records. taken: records taken in since they began.
    """

    age_s: float
    pending: float
    taken: float

    def continued_by(self, later: "QueueReading") -> bool:
        """Whether the same subtasks ran between the two readings."""
        return later.age_s >= self.age_s and later.taken >= self.taken

    def arrived(self, later: "QueueReading") -> float:
        """Records that arrived between the two readings."""
        return later.taken - self.taken + later.pending - self.pending


Queue = QueueReading | SourceBacklog | None
"""What Flink collected last for a source: None before the first collection, a SourceBacklog if it is unknown."""


def queue_reading(rest: FlinkRest, jid: str, source: str, vertex: Vertex) -> Queue:
    """Raises ClusterError if Flink does not answer."""
    if not vertex.running:
        return SourceBacklog(0.0, 0.0)  # bounded input that was read to its end
    names = set(rest.metric_names(jid, vertex.id))
    if not names.issuperset(_AGE):
        return None
    operators = [name.removesuffix(_PENDING) for name in names if name.endswith(_PENDING)]
    if not operators:
        return SourceBacklog(
            None,
            None,
            f"source {source!r} publishes no pendingRecords: its connector does not report its backlog, or has not "
            "fetched anything yet; if it reads Kafka, name its consumer group in arrivals.group",
        )
    counts = [name + of for name in operators for of in (_PENDING, _READ, _GIVEN) if name + of in names]
    metrics = rest.metric_sums(jid, vertex.id, vertex.parallelism, [*_AGE, *counts])
    if not metrics.keys() >= {*_AGE, *counts}:
        return None
    mean_ms, ages_ms = (sum(ages) for ages in zip(*((metrics[n].mean, metrics[n].sum) for n in _AGE), strict=True))
    collected = ages_ms / mean_ms if mean_ms > 0 else math.nan
    # Flink keeps the last counters of a finished subtask for a while; until all others reported, the sums are partial.
    if not vertex.running - 0.5 < collected < vertex.parallelism + 0.5:
        return None
    sums = {name: metrics[name].sum for name in counts}
    # Some sources do not count what they read; they emit as much.
    taken = sum(sums.get(name + _READ, 0.0) or sums.get(name + _GIVEN, 0.0) for name in operators)
    pending = sum(max(0.0, sums[name + _PENDING]) for name in operators)
    return QueueReading(ages_ms / 1000 / vertex.running, pending, taken)


def source_backlog(source: str, before: QueueReading, after: QueueReading) -> SourceBacklog:
    """Backlog at the second reading. Its lag is the time in which that many records arrive, at the rate between the
    two.
    """
    taken = Taken(after.age_s, after.taken)
    if after.pending <= 0:
        return SourceBacklog(0.0, 0.0, taken=taken)
    span_s = after.age_s - before.age_s
    arrived = before.arrived(after)
    if arrived <= 0:
        return SourceBacklog(
            after.pending,
            None,
            f"{after.pending:g} tuples wait at source {source!r}, and none arrived for {span_s:.0f} s: how long they "
            "have waited is unknown",
            taken,
        )
    return SourceBacklog(after.pending, after.pending * span_s / arrived, taken=taken)


def source_backlogs(
    sources: Sequence[str], read: Callable[[], Mapping[str, Queue]], clock: Clock
) -> Mapping[str, SourceBacklog]:
    """Read until every source has two usable readings or a known reason why not, or until patience ends."""
    first: dict[str, QueueReading] = {}
    found: dict[str, SourceBacklog] = {}
    settled: set[str] = set()
    waited_s = 0.0
    while True:
        for source, queue in read().items():
            if isinstance(queue, SourceBacklog):
                found[source] = queue
                settled.add(source)
            elif queue is None:
                continue
            elif source not in first or not first[source].continued_by(queue):
                first[source] = queue
                found.pop(source, None)
                settled.discard(source)
            elif queue.age_s - first[source].age_s >= _SPAN_S:
                found[source] = source_backlog(source, first[source], queue)
                if queue.pending <= 0 or first[source].arrived(queue) >= _ENOUGH:
                    settled.add(source)
        if len(settled) == len(sources) or waited_s >= _PATIENCE_S:
            break
        clock.wait(POLL_S)
        waited_s += POLL_S
    late = f"Flink collected no metrics of it twice, {_SPAN_S:g} s apart, within {_PATIENCE_S:g} s"
    return {name: found.get(name) or SourceBacklog(None, None, f"source {name!r}: {late}") for name in sources}
