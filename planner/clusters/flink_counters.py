"""Samples from two reads of the counters that Flink accumulates per subtask."""

from collections import Counter
from collections.abc import Mapping, Sequence

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Grouping, Topology
from planner.clusters.flink_answers import Counters

Reading = Mapping[tuple[str, int], Counters]
"""Counters per operator name and index of the instance."""


def shortest_span_s(before: Reading, after: Reading) -> float:
    """Seconds by which the instance that moved least has moved on; below 0 where one was restarted in between."""
    if before.keys() != after.keys():
        return -1.0
    return min((after[at].elapsed_ms - before[at].elapsed_ms) / 1000 for at in before)


def operator_samples(
    topology: Topology,
    before: Reading,
    after: Reading,
    *,
    began_s: float | None = None,
    state_gib: Mapping[str, float] | None = None,
) -> Sequence[OperatorSample]:
    """What every instance did between two reads.

    began_s: when the first was taken. state_gib: per operator, of all its instances: key groups are dealt out evenly.

    The span is the sum of busy, idle and backpressured time, not the time between our two calls: Flink collects its
    counters every ten seconds or so, and all counters of one instance are collected together. An instance whose busy
    time Flink cannot tell (NaN: a source of the old kind) is left out.

    A vertex counts what it writes to all its outputs together. Where an output is the only input of what reads it, the
    stream is counted there, and shared out by what the instances wrote; other outputs get even parts of the rest.

    A vertex counts what it reads of all its inputs together. Where each input is the only output of what writes it, the
    mix of all instances is known, and taken for that of each: the mix differs from span to span, not within one.
    """
    moved = {at: _difference(before[at], after[at]) for at in after}
    parallelism = Counter(operator for operator, _ in after)
    mixes = {operator.name: _mix(topology, operator.name, moved) for operator in topology.operators}
    state = {name: held_gib / parallelism[name] for name, held_gib in (state_gib or {}).items() if parallelism[name]}
    return [
        OperatorSample(
            operator=operator,
            index=index,
            span_s=counters.elapsed_ms / 1000,
            busy_s=max(0.0, counters.busy_ms) / 1000,
            backpressured_s=counters.backpressured_ms / 1000,
            # A source's vertex reads nothing from upstream: what it gives out is what it polled.
            records_in=counters.records_read or (counters.records_written if operator in topology.sources else 0.0),
            records_out=_records_out(topology, operator, counters.records_written, moved),
            began_s=began_s,
            # Counters begin with the instance.
            age_s=before[operator, index].elapsed_ms / 1000,
            records_in_by={stream: part * counters.records_read for stream, part in mixes[operator].items()},
            parallelism=parallelism[operator],
            state_gib=state.get(operator),
        )
        for (operator, index), counters in moved.items()
        if counters.elapsed_ms > 0
    ]


def _mix(topology: Topology, operator: str, moved: Reading) -> Mapping[str, float]:
    """Part of what an operator reads that comes by each input; empty where it has one, or nobody can tell."""
    inputs = topology.inputs(operator)
    if len(inputs) < 2 or any(len(topology.outputs(stream.upstream)) > 1 for stream in inputs):
        return {}
    copies = {s.name: sum(name == operator for name, _ in moved) if s.grouping is Grouping.ALL else 1 for s in inputs}
    written = {
        stream.name: copies[stream.name]
        * sum(counters.records_written for (name, _), counters in moved.items() if name == stream.upstream)
        for stream in inputs
    }
    together = sum(written.values())
    return {stream: count / together for stream, count in written.items()} if together > 0 else {}


def _difference(before: Counters, after: Counters) -> Counters:
    return Counters(
        records_read=max(0.0, after.records_read - before.records_read),
        records_written=max(0.0, after.records_written - before.records_written),
        busy_ms=after.busy_ms - before.busy_ms,
        idle_ms=max(0.0, after.idle_ms - before.idle_ms),
        backpressured_ms=max(0.0, after.backpressured_ms - before.backpressured_ms),
    )


def _records_out(topology: Topology, operator: str, written: float, moved: Reading) -> Mapping[str, float]:
    outputs = topology.outputs(operator)
    if len(outputs) < 2:
        return {stream.name: written for stream in outputs}
    all_written = sum(counters.records_written for (name, _), counters in moved.items() if name == operator)
    share = written / all_written if all_written else 0.0
    counted: dict[str, float] = {}
    for stream in outputs:
        if len(topology.inputs(stream.downstream)) == 1:
            reads = [counters.records_read for (name, _), counters in moved.items() if name == stream.downstream]
            copies = len(reads) if stream.grouping is Grouping.ALL else 1
            counted[stream.name] = share * sum(reads) / max(1, copies)
    others = [stream.name for stream in outputs if stream.name not in counted]
    rest = max(0.0, written - sum(counted.values()))
    return {stream.name: counted.get(stream.name, rest / max(1, len(others))) for stream in outputs}
