"""Which vertex of a Flink job is which operator, and what a parallelism of all of them needs."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.flink_answers import Job, PlanNode, Vertex
from planner.errors import ClusterError

_GROUPINGS = {
    "HASH": Grouping.FIELDS,
    "REBALANCE": Grouping.SHUFFLE,
    "RESCALE": Grouping.SHUFFLE,
    "SHUFFLE": Grouping.SHUFFLE,
    "FORWARD": Grouping.FORWARD,
    "BROADCAST": Grouping.ALL,
    "GLOBAL": Grouping.GLOBAL,
}


def operator_vertices(job: Job, topology: Topology, vertex_names: Mapping[str, str]) -> Mapping[str, Vertex]:
    """The vertex of each operator: the one that vertex_names gives, else that of its name, plain or as Flink writes
    sources and sinks (`Source: name`, `Sink: name`).

    Raises ClusterError naming the job's vertices where an operator has none, or more than one.
    """
    found = {}
    for operator in topology.operators:
        names = {operator.name, f"Source: {operator.name}", f"Sink: {operator.name}"}
        if operator.name in vertex_names:
            names = {vertex_names[operator.name]}
        vertices = [vertex for vertex in job.vertices if vertex.name in names]
        if len(vertices) != 1:
            raise ClusterError(
                f"Flink job {job.name!r} has {len(vertices)} vertices for operator {operator.name!r}; its vertices are "
                f"{', '.join(repr(v.name) for v in job.vertices) or 'none yet'}: name one in cluster.operators, "
                "and disable chaining around operators that are to scale by themselves"
            )
        found[operator.name] = vertices[0]
    return found


def bounded_topology(topology: Topology, vertices: Mapping[str, Vertex]) -> Topology:
    """The same operators, with the largest parallelism that the running job allows each."""
    return replace(
        topology, operators=tuple(Operator(o.name, vertices[o.name].max_parallelism) for o in topology.operators)
    )


def running_topology(job: Job, nodes: list[PlanNode], topology: Topology, vertices: Mapping[str, Vertex]) -> Topology:
    """Operators and streams as the job has them; a vertex that is no declared operator keeps its own name.

    A stream with a partitioner of its own (CUSTOM) has the grouping that is declared for it, else shuffle.
    """
    names = {vertex.id: vertex.name for vertex in job.vertices}
    names.update({vertex.id: operator for operator, vertex in vertices.items()})
    declared = {stream.name: stream.grouping for stream in topology.streams}
    streams: dict[str, Stream] = {}
    for node in nodes:
        for entering in node.inputs:
            stream = Stream(names.get(entering.id, entering.id), names.get(node.id, node.id))
            grouping = _GROUPINGS.get(entering.ship_strategy, declared.get(stream.name, Grouping.SHUFFLE))
            # Two edges between the same two vertices (a self-join) are one stream to the model.
            streams.setdefault(stream.name, replace(stream, grouping=grouping))
    operators = tuple(Operator(names[vertex.id], vertex.max_parallelism) for vertex in job.vertices)
    return Topology(topology.name, operators, tuple(streams.values()), Engine.FLINK)


def slots_needed(job: Job, parallelism: Mapping[str, int]) -> int:
    """Slots for a parallelism per vertex id: a slot holds one subtask of every vertex of its slot sharing group."""
    widest: dict[str, int] = defaultdict(int)
    for vertex in job.vertices:
        widest[vertex.slot_group] = max(widest[vertex.slot_group], parallelism[vertex.id])
    return sum(widest.values())
