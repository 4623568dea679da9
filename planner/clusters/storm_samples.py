"""Operator samples of a Storm topology, from a window in its UI that ends now.

Written from the REST documentation and the code of Storm 2 (UIHelpers, StatsUtil), and tested with the UI of a real
Storm 1.2.4 (tests/integration/storm), whose pages have the same shape. Not tested with Storm 2.

An executor, which holds one or more tasks, is an instance. The UI reports its executed tuples, mean execute latency
(ms, as text with three digits), emitted tuples over all streams, and capacity: its busy share of the last ten minutes.
Counts by stream are reported over all executors together; they are divided here in proportion to what each executed and
emitted, so that executors differ in their totals only. Storm samples one tuple in twenty (topology.stats.sample.rate)
and counts it as twenty. It reports no backpressure, CPU, memory or garbage collection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Unpack

from engines.http import Connection
from engines.storm.answers import ComponentPage, Executor
from engines.storm.ui import StormPages
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.topology import Topology
from planner.clusters.component_streams import component_of_operator, streams_read
from planner.errors import ClusterError

WINDOWS_S = (600, 10800, 86400)
"""The windows that Storm keeps, besides all time."""
CAPACITY_S = 600.0
ROUNDED = 0.0005
"""Latencies and capacities are reported with three digits."""
FAR_APART = 0.5


def storm_operator_samples(
    url: str,
    *,
    topology_name: str,
    topology: Topology,
    operators: Mapping[str, str] | None = None,
    window_s: int = 600,
    **connection: Unpack[Connection],
) -> Sequence[OperatorSample]:
    """One sample per executor over the window, or over its uptime if that is shorter.

    operators: operator → component, where their names differ. An executor without an uptime has not reported yet and is
    left out. A spout's busy time is unknown: busy_s of sources is 0, and their records_in is what they emitted on the
    topology's streams. backpressured_s is 0, as Storm does not report it: check busy_s and max.spout.pending before
    treating throughput as offered load. Ticks and other tuples of Storm's own count as busy time, not as tuples.
    Samples of overlapping windows are not independent: ask again after window_s.

    Raises ClusterError if the UI cannot be reached, does not know the topology or a component, answers in another
    shape, or reports capacities that contradict counts and latencies.
    """
    ui = StormPages(url, ClusterError, window=str(window_s), part=f"topology {topology_name}", **connection)
    if window_s not in WINDOWS_S:
        raise ClusterError(f"{ui.place}: window_s {window_s}; Storm keeps windows of 600, 10800 and 86400 s")
    topology_id = ui.topology_id(topology_name)
    component_of = component_of_operator(ui.place, topology, operators, ui.topology(topology_id).components)
    now_s = datetime.now(UTC).timestamp()
    shown = {name: ui.component(topology_id, component) for name, component in component_of.items()}
    reads = {name: [(one.component, one.stream) for one in component.inputs or ()] for name, component in shown.items()}
    carried = streams_read(ui.place, topology, component_of, reads)
    samples: list[OperatorSample] = []
    for name, component in shown.items():
        flows = _flows(topology, name, component, component_of, carried)
        parallelism = len(component.executors)
        for index, executor in enumerate(sorted(component.executors, key=lambda each: each.first_task)):
            if executor.uptime_s > 0:
                busy_s = _busy_s(ui.place, name, executor, window_s)
                try:
                    sample = _sample(name, flows, executor, busy_s, min(float(window_s), executor.uptime_s))
                except ModelError as error:
                    raise ClusterError(
                        f"{ui.place} reported an impossible sample: {error}; check its version"
                    ) from None
                samples.append(replace(sample, index=index, parallelism=parallelism, began_s=now_s - sample.span_s))
    return samples


@dataclass(frozen=True)
class _Flows:
    """Totals of one operator. entered, spent_ms: per stream of the topology that enters it. left: per stream that
    leaves it. executed, executed_ms, emitted: over all streams, including Storm's own. polled: what a source emitted on
    the topology's streams, each tuple once however many read it; None if it is no source.
    """

    entered: Mapping[str, float]
    spent_ms: Mapping[str, float]
    left: Mapping[str, float]
    executed: float
    executed_ms: float
    emitted: float
    polled: float | None


def _flows(
    topology: Topology,
    name: str,
    component: ComponentPage,
    component_of: Mapping[str, str],
    carried: Mapping[str, tuple[str, ...]],
) -> _Flows:
    entered = {stream.name: 0.0 for stream in topology.inputs(name)}
    spent_ms = dict(entered)
    inputs = component.inputs or ()
    for each in inputs:
        for stream in topology.inputs(name):
            if component_of[stream.upstream] == each.component and each.stream in carried[stream.name]:
                entered[stream.name] += each.executed
                spent_ms[stream.name] += each.executed * each.latency_ms
    given = {one.stream: one.emitted for one in component.outputs or () if not one.stream.startswith("__")}
    # A stream without readers so far has no known name: if only one stream is emitted, it is that one.
    ids = {
        stream.name: set(carried[stream.name]) or (set(given) if len(given) == 1 else set())
        for stream in topology.outputs(name)
    }
    polled = sum(given.get(stream_id, 0.0) for stream_id in set().union(*ids.values()))
    return _Flows(
        entered=entered,
        spent_ms=spent_ms,
        left={stream: sum(given.get(stream_id, 0.0) for stream_id in of) for stream, of in ids.items()},
        executed=sum(each.executed for each in inputs),
        executed_ms=sum(each.executed * each.latency_ms for each in inputs),
        emitted=sum(given.values()),
        polled=polled if name in topology.sources else None,
    )


def _sample(name: str, flows: _Flows, executor: Executor, busy_s: float, span_s: float) -> OperatorSample:
    """One executor's share of the totals."""
    share_in = executor.executed / flows.executed if flows.executed else 0.0
    share_out = executor.emitted / flows.emitted if flows.emitted else 0.0
    entered = {stream: share_in * count for stream, count in flows.entered.items()}
    return OperatorSample(
        operator=name,
        index=0,
        span_s=span_s,
        busy_s=busy_s,
        backpressured_s=0.0,
        records_in=sum(entered.values()) if flows.polled is None else share_out * flows.polled,
        records_out={stream: share_out * count for stream, count in flows.left.items()},
        age_s=executor.uptime_s - span_s,
        records_in_by=entered,
        busy_s_by={
            stream: busy_s * ms / flows.executed_ms if flows.executed_ms else 0.0
            for stream, ms in flows.spent_ms.items()
        },
    )


def _busy_s(place: str, name: str, executor: Executor, window_s: int) -> float:
    """Seconds that an executor spent in execute: tuples × mean latency or, over ten minutes, its capacity, whichever
    has the smaller rounding error. Raises ClusterError if the two are far apart.
    """
    counted_s, counted_error_s = executor.executed * executor.latency_ms / 1000, executor.executed * ROUNDED / 1000
    if executor.capacity is None or window_s != CAPACITY_S:
        return counted_s
    span_s = min(CAPACITY_S, executor.uptime_s)
    shown_s, shown_error_s = executor.capacity * span_s, ROUNDED * span_s
    apart_s = abs(counted_s - shown_s) - counted_error_s - shown_error_s
    if apart_s > FAR_APART * max(counted_s, shown_s):
        raise ClusterError(
            f"{place} contradicts itself: the executor of {name!r} with task {executor.first_task} was busy for "
            f"{counted_s:.1f} s by its tuples and latency, and for {shown_s:.1f} s by its capacity; check its version"
        )
    return counted_s if counted_error_s <= shown_error_s else shown_s
