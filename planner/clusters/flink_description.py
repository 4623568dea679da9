"""Describes a running Flink job: vertices as operators, ship strategies as groupings, counters as numbers."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Unpack

from engines.flink.answers import ENDED, Counters, Job, JobSummary, PlanNode, Vertex
from engines.flink.rest import FlinkRest
from engines.http import Connection
from modeling.inputs.topology import Engine
from planner.clusters.flink_processors import cores_of_one
from planner.clusters.job_description import (
    USUAL_IN_ALL,
    DescribedContainers,
    DescribedOperator,
    DescribedStream,
    DescribedTerm,
    JobDescription,
    grouping_of,
    unlike_names,
)
from planner.errors import ClusterError

ENOUGH_RECORDS = 100
"""Records needed for a mean that is worth writing down."""

INCOMPLETE = "Flink marks its counts as incomplete: some subtasks have not reported theirs"

_PART = re.compile(r"\s*->\s*|\s*,\s*")
_PREFIX = re.compile(r"^(Source|Sink):\s*")
# Metric names of Flink's Kafka source, and of the older consumer (currentOffsets).
_TOPIC = re.compile(r"(?:^|\.)topic\.(.+)\.partition\.(\d+)\.(?:current|committed)Offsets?$")


def flink_description(url: str, name: str | None, **connection: Unpack[Connection]) -> JobDescription:
    """The job of that name, or the only running one. Raises ClusterError if there is none, or more than one."""
    rest = FlinkRest(url, ClusterError, **connection)
    summary = rest.find_job(name) if name is not None else _only_job(rest)
    job, nodes = rest.job(summary.jid), rest.plan(summary.jid)
    if not job.vertices:
        raise ClusterError(f"job {job.name!r} of {rest.place} is {job.state} and has no vertices yet; ask again")
    names = dict(zip([v.id for v in job.vertices], unlike_names(_short(v.name) for v in job.vertices), strict=True))
    streams = _streams(job, nodes, names)
    entered = {stream.downstream for stream in streams}
    sources = [vertex for vertex in job.vertices if names[vertex.id] not in entered]
    read = {names[vertex.id]: found for vertex in sources if (found := _partitions(rest, job, vertex))}
    partitions = {source: len(found) for source, found in read.items()}
    return JobDescription(
        name=job.name,
        engine=Engine.FLINK,
        place=f"job {job.name!r} of {rest.place}",
        runs=job.runs,
        state=job.state,
        operators=[_operator(vertex, names[vertex.id], job, vertex in sources) for vertex in job.vertices],
        streams=streams,
        terms=_slot_terms(rest, job, names),
        topics={source: sorted({topic for topic, _ in found}) for source, found in read.items()},
        partitions=partitions,
        containers=_containers(rest, job, names),
    )


def _only_job(rest: FlinkRest) -> JobSummary:
    jobs = [job for job in rest.jobs() if job.state not in ENDED]
    if len(jobs) == 1:
        return jobs[0]
    if not jobs:
        raise rest.failure(f"{rest.place} runs no job; submit it first, and then describe it")
    names = ", ".join(sorted(job.name for job in jobs))
    raise rest.failure(f"{rest.place} runs {len(jobs)} jobs: {names}; name one by --job")


def _short(vertex: str) -> str:
    """The first operator of a chain, without Flink's prefix for sources and sinks."""
    return _PREFIX.sub("", _PART.split(vertex)[0]).strip() or vertex


def _operator(vertex: Vertex, name: str, job: Job, source: bool) -> DescribedOperator:
    records, busy_s, counted = _worked(vertex.counters, source=source)
    known = counted and records >= ENOUGH_RECORDS and math.isfinite(busy_s) and busy_s > 0
    alike = sum(other.name == vertex.name for other in job.vertices) > 1
    plain = {name, f"Source: {name}", f"Sink: {name}"}
    return DescribedOperator(
        name,
        name if vertex.name in plain else vertex.name,
        max(1, vertex.parallelism),
        vertex.max_parallelism if vertex.max_parallelism > 0 else None,
        busy_s / records if known else None,
        f"{busy_s:.1f} s busy for {records:,.0f} tuples since the job started"
        if known
        else ""
        if counted
        else INCOMPLETE,
        f"several vertices are named {vertex.name!r}; give each a name of its own in the job: forescale tells them "
        "apart by name"
        if alike
        else "",
    )


def _worked(counters: Counters | None, *, source: bool) -> tuple[float, float, bool]:
    """Tuples that all subtasks took in, their busy seconds, and whether Flink counted them all. A source that does not
    count what it takes in: what it emitted.
    """
    if counters is None:
        return 0.0, 0.0, True
    if source and not counters.records_read:  # its connector does not count what it polls
        return counters.records_written, counters.busy_ms / 1000, counters.written_complete
    return counters.records_read, counters.busy_ms / 1000, counters.read_complete


def _streams(job: Job, nodes: Sequence[PlanNode], names: Mapping[str, str]) -> list[DescribedStream]:
    read_by = [each.id for node in nodes for each in node.inputs]
    counters = {vertex.id: vertex.counters for vertex in job.vertices}
    streams: list[DescribedStream] = []
    for node in nodes:
        for number, entering in enumerate(node.inputs):
            if entering.id not in names or node.id not in names:
                raise ClusterError(
                    f"job {job.name!r}: its plan names a vertex that the job lacks; ask again when it has started"
                )
            alike = sum(each.id == entering.id for each in node.inputs) > 1
            grouping, question = grouping_of(entering.ship_strategy)
            ratio, evidence = None, ""
            if read_by.count(entering.id) == 1:
                ratio, evidence = _ratio(counters[entering.id])
            streams.append(
                DescribedStream(
                    names[entering.id],
                    names[node.id],
                    grouping,
                    f"input {number}" if alike else "",
                    ratio,
                    ", ".join(filter(None, (f"Flink: {entering.ship_strategy}", evidence))),
                    question,
                )
            )
    return streams


def _ratio(counters: Counters | None) -> tuple[float | None, str]:
    """Tuples out per tuple in."""
    if counters is None or counters.records_read < ENOUGH_RECORDS:
        return None, ""
    if not counters.complete:
        return None, INCOMPLETE
    ratio = counters.records_written / counters.records_read
    return ratio, f"{counters.records_written:,.0f} out for {counters.records_read:,.0f} in"


def _slot_terms(rest: FlinkRest, job: Job, names: Mapping[str, str]) -> list[DescribedTerm]:
    """Bounds on parallelism from the slots. With several slot sharing groups no operator has a bound of its own."""
    if len({vertex.slot_group for vertex in job.vertices}) > 1 or not (slots := sum(rest.slots(job.jid))):
        return []
    most = {names[v.id]: min(slots, v.max_parallelism if v.max_parallelism > 0 else slots) for v in job.vertices}
    terms = [DescribedTerm("max_parallelism", most, f"{slots} slots are free or its own")]
    if (in_all := sum(most.values())) > USUAL_IN_ALL:
        terms.append(DescribedTerm("max_instances", in_all, "as many as these slots hold"))
    return terms


def _containers(rest: FlinkRest, job: Job, names: Mapping[str, str]) -> DescribedContainers | None:
    """Task managers that are alike; None if their cores or slots are unknown or differ."""
    managers = rest.task_managers()
    cores, evidence = cores_of_one(managers)
    slots = {manager.slots for manager in managers}
    if cores is None or len(slots) != 1 or slots == {0}:
        return None
    groups = list(dict.fromkeys(vertex.slot_group for vertex in job.vertices))
    numbers = {names[v.id]: f"group-{groups.index(v.slot_group)}" for v in job.vertices} if len(groups) > 1 else {}
    return DescribedContainers("flink_slots", cores, slots.pop(), numbers, evidence)


def _partitions(rest: FlinkRest, job: Job, vertex: Vertex) -> set[tuple[str, int]]:
    """Topic and number of each partition of Kafka that a source's metrics name: those of running subtasks."""
    if job.state in ENDED:
        return set()
    found = (_TOPIC.search(name) for name in rest.metric_names(job.jid, vertex.id))
    return {(match[1], int(match[2])) for match in found if match is not None}
