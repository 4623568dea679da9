"""Samples from two reads of the counters that Flink accumulates per subtask."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engines.flink.answers import Counters, Job, Vertex, VertexDetails
from engines.flink.rest import FlinkRest, ProcessTimes
from modeling.calibration.operator_sample import OperatorSample, TaskBeside
from modeling.inputs.topology import Grouping, Stream, Topology
from planner.clusters.flink_processors import Processor, Shared, shared_processors

Reading = Mapping[tuple[str, int], Counters]
"""Counters per operator name and index of the instance."""

# Flink may collect counters between two answers: vertices read before and after are then from different moments, and
# all are read again.
_READS = 3


@dataclass(frozen=True)
class Read:
    """Counters, and when they were read (seconds since the epoch, by Flink's clock). task_manager: id by instance.
    cpu_s, gc_s: seconds of CPU and of garbage collection of each since its start, if reported; gc_pauses: number of
    collections. beside: counters of tasks of other jobs, by task manager.
    """

    at_s: float
    counters: Reading
    task_manager: Mapping[tuple[str, int], str] = field(default_factory=dict)
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    gc_s: Mapping[str, float] = field(default_factory=dict)
    gc_pauses: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, Reading] = field(default_factory=dict)


def read_counters(rest: FlinkRest, job: Job, vertices: Mapping[str, Vertex]) -> Read | None:
    """Counters of all instances that have not finished; None while Flink has not collected those of the present
    execution.
    """
    first = next(iter(vertices))
    for _ in range(_READS):
        answers = {name: rest.vertex(job.jid, vertex.id) for name, vertex in vertices.items()}
        times = _process_times(rest, answers)
        if _collected(answers[first]) == _collected(rest.vertex(job.jid, vertices[first].id)):
            break
    reading, places = {}, {}
    for name, details in answers.items():
        for subtask in details.subtasks:
            counters = subtask.metrics
            # A source of the old kind has no busy time, and bounded input ends: those counters never move.
            if math.isnan(counters.busy_ms) or subtask.status == "FINISHED":
                continue
            too_old = counters.elapsed_ms > details.now - subtask.start_ms + 1000
            if not counters.complete or too_old:
                return None
            reading[name, subtask.index] = counters
            if subtask.task_manager:
                places[name, subtask.index] = subtask.task_manager
    cpu_s = {manager: each.cpu_s for manager, each in times.items() if each.cpu_s is not None}
    gc_s = {manager: each.gc_s for manager, each in times.items() if each.gc_s is not None}
    gc_pauses = {manager: each.gc_pauses for manager, each in times.items() if each.gc_pauses is not None}
    beside = _tasks_beside(rest, job.jid, sorted(set(places.values())))
    return Read(job.now / 1000, reading, places, cpu_s, gc_s, gc_pauses, beside)


def _tasks_beside(rest: FlinkRest, jid: str, managers: Sequence[str]) -> Mapping[str, Reading]:
    """Counters of running tasks of other jobs, by task manager; their names are the ids of job and vertex."""
    found: dict[str, dict[tuple[str, int], Counters]] = {}
    for job in rest.jobs_beside(jid, managers):
        for vertex in job.vertices:
            for subtask in rest.subtasks(job.jid, vertex.id):
                counters = subtask.metrics
                counted = counters.complete and not math.isnan(counters.busy_ms)
                if subtask.status == "RUNNING" and subtask.task_manager in managers and counted:
                    found.setdefault(subtask.task_manager, {})[f"{job.jid} {vertex.id}", subtask.index] = counters
    return found


def _process_times(rest: FlinkRest, answers: Mapping[str, VertexDetails]) -> dict[str, ProcessTimes]:
    """Of each task manager that runs a subtask."""
    there = {subtask.task_manager for details in answers.values() for subtask in details.subtasks}
    return {manager: rest.process_times(manager) for manager in sorted(there - {""})}


def read_samples(
    topology: Topology,
    before: Read,
    after: Read,
    known: Sequence[Processor] = (),
    state_gib: Mapping[str, float] | None = None,
) -> Sequence[OperatorSample]:
    """`operator_samples` between two reads, with the CPU of what each instance shares its cores with."""
    spans_s = {at: (new.elapsed_ms - before.counters[at].elapsed_ms) / 1000 for at, new in after.counters.items()}
    shared = shared_processors(known, after.task_manager, spans_s, _gained(before.cpu_s, after.cpu_s))
    samples = operator_samples(
        topology, before.counters, after.counters, began_s=before.at_s, state_gib=state_gib, shared=shared
    )
    gc_s, gc_pauses = _gained(before.gc_s, after.gc_s), _gained(before.gc_pauses, after.gc_pauses)
    managers = [after.task_manager.get((sample.operator, sample.index), "") for sample in samples]
    together = {manager: processor.task_managers for processor in known for manager in processor.task_managers}
    beside = {manager: _beside(before, after, together.get(manager, (manager,))) for manager in {*managers}}
    return [
        replace(
            sample,
            gc_s=gc_s.get(manager),
            gc_pauses=gc_pauses.get(manager),
            beside=tuple(each.within(sample.span_s) for each in beside[manager]),
        )
        for sample, manager in zip(samples, managers, strict=True)
    ]


def _beside(before: Read, after: Read, managers: Sequence[str]) -> list[TaskBeside]:
    """Tasks of other jobs on these task managers, in both reads, as in one second."""
    found = []
    for manager in managers:
        old, now = before.beside.get(manager, {}), after.beside.get(manager, {})
        for name, index in sorted(old.keys() & now.keys()):
            moved = _difference(old[name, index], now[name, index])
            if moved.elapsed_ms > 0:
                tuples = moved.records_read or moved.records_written
                found.append(
                    TaskBeside(
                        name,
                        index,
                        max(0.0, moved.busy_ms) / moved.elapsed_ms,
                        moved.backpressured_ms / moved.elapsed_ms,
                        1000 * tuples / moved.elapsed_ms,
                    )
                )
    return found


def _gained(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """By task manager. One that has been replaced meanwhile has a counter of its own."""
    return {
        manager: now - before[manager] for manager, now in after.items() if manager in before and now >= before[manager]
    }


def shortest_span_s(before: Reading, after: Reading) -> float:
    """Smallest progress of any instance between the reads, in seconds; below 0 if one was restarted."""
    if before.keys() != after.keys():
        return -1.0
    return min(((after[at].elapsed_ms - before[at].elapsed_ms) / 1000 for at in before), default=0.0)


def operator_samples(
    topology: Topology,
    before: Reading,
    after: Reading,
    *,
    began_s: float | None = None,
    state_gib: Mapping[str, float] | None = None,
    shared: Mapping[tuple[str, int], Shared] | None = None,
) -> Sequence[OperatorSample]:
    """The work of every instance between two reads.

    began_s: when the first was taken. state_gib: per operator, over all its instances; key groups are spread evenly.
    shared: by instance, what it shares cores with.

    The span is the sum of busy, idle and backpressured time, not the time between our two calls: Flink collects its
    counters every ten seconds or so, all counters of one instance at once. Those of another instance may be seconds
    older, so its counts are scaled to the same span. An instance without a busy time (NaN: a source of the old kind) is
    left out.

    A vertex counts its writes over all outputs together. If an output is its reader's only input, the stream is counted
    there and divided in proportion to what the instances wrote; the other outputs get equal parts of the rest.

    A vertex counts its reads over all inputs together. If each input is its writer's only output, the mix of all
    instances is known and used for each instance: the mix differs from span to span, not within one.
    """
    differences = ((at, _difference(before[at], after[at])) for at in after)
    moved = {at: counters for at, counters in differences if counters.elapsed_ms > 0}
    read_per_ms: defaultdict[str, float] = defaultdict(float)
    written_per_ms: defaultdict[str, float] = defaultdict(float)
    for (operator, _), counters in moved.items():
        read_per_ms[operator] += counters.records_read / counters.elapsed_ms
        written_per_ms[operator] += counters.records_written / counters.elapsed_ms
    parallelism = Counter(operator for operator, _ in after)
    mixes = {name: _mix(topology, name, written_per_ms, parallelism) for name in topology.order}
    parts = {name: _output_parts(topology, name, read_per_ms, written_per_ms, parallelism) for name in topology.order}
    # Connectors of the present kind count what they poll; for others all instances of a source read 0.
    counting = {operator for (operator, _), each in moved.items() if each.records_read > 0}
    within = shared or {}
    state = {name: held_gib / parallelism[name] for name, held_gib in (state_gib or {}).items() if parallelism[name]}
    return [
        OperatorSample(
            operator=operator,
            index=index,
            span_s=counters.elapsed_ms / 1000,
            busy_s=max(0.0, counters.busy_ms) / 1000,
            backpressured_s=counters.backpressured_ms / 1000,
            # A source that does not count what it polls is taken to emit it.
            records_in=counters.records_read
            if operator in counting or operator not in topology.sources
            else counters.records_written,
            records_out={stream: part * counters.records_written for stream, part in parts[operator].items()},
            began_s=began_s,
            # Counters start with the instance.
            age_s=before[operator, index].elapsed_ms / 1000,
            records_in_by={stream: part * counters.records_read for stream, part in mixes[operator].items()},
            parallelism=parallelism[operator],
            state_gib=state.get(operator),
            container=of.container if (of := within.get((operator, index))) else None,
            container_cpu_s=of.cores_used * counters.elapsed_ms / 1000 if of else None,
            container_cores=of.cores if of else None,
            arrivals=counters.records_read if operator in topology.sources and operator in counting else None,
        )
        for (operator, index), counters in moved.items()
    ]


def _mix(
    topology: Topology, operator: str, written_per_ms: Mapping[str, float], parallelism: Mapping[str, int]
) -> Mapping[str, float]:
    """Share of each input in what an operator reads; empty if it has only one or the shares are unknown."""
    inputs = topology.inputs(operator)
    if len(inputs) < 2 or any(len(topology.outputs(stream.upstream)) > 1 for stream in inputs):
        return {}
    written = {s.name: _copies(s, parallelism) * written_per_ms[s.upstream] for s in inputs}
    together = sum(written.values())
    return {stream: count / together for stream, count in written.items()} if together > 0 else {}


def _output_parts(
    topology: Topology,
    operator: str,
    read_per_ms: Mapping[str, float],
    written_per_ms: Mapping[str, float],
    parallelism: Mapping[str, int],
) -> Mapping[str, float]:
    """Share of each output in what an operator writes."""
    outputs = topology.outputs(operator)
    counted = {
        stream.name: read_per_ms[stream.downstream] / _copies(stream, parallelism) / written_per_ms[operator]
        for stream in outputs
        if len(outputs) > 1 and len(topology.inputs(stream.downstream)) == 1 and written_per_ms[operator] > 0
    }
    rest = max(0.0, 1.0 - sum(counted.values())) / max(1, len(outputs) - len(counted))
    return {stream.name: counted.get(stream.name, rest) for stream in outputs}


def _copies(stream: Stream, parallelism: Mapping[str, int]) -> int:
    """Number of instances that read each record of a stream."""
    return max(1, parallelism[stream.downstream]) if stream.grouping is Grouping.ALL else 1


def _difference(before: Counters, after: Counters) -> Counters:
    return Counters(
        records_read=max(0.0, after.records_read - before.records_read),
        records_written=max(0.0, after.records_written - before.records_written),
        busy_ms=after.busy_ms - before.busy_ms,
        idle_ms=max(0.0, after.idle_ms - before.idle_ms),
        backpressured_ms=max(0.0, after.backpressured_ms - before.backpressured_ms),
    )


def _collected(details: VertexDetails) -> list[tuple[float, ...]]:
    """Values that change when counters are collected anew; busy time, which may be NaN, is left out."""
    counters = [subtask.metrics for subtask in details.subtasks]
    return [(each.records_read, each.records_written, each.idle_ms, each.backpressured_ms) for each in counters]
