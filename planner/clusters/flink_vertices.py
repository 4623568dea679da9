"""Maps vertices of a Flink job to operators, and counts the slots that they need."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from engines.flink.answers import Job, Vertex
from modeling.inputs.topology import Topology
from planner.errors import ClusterError


def operator_vertices(job: Job, topology: Topology, vertex_names: Mapping[str, str]) -> Mapping[str, Vertex]:
    """The vertex of each operator: the one in vertex_names, or the one with its name, plain or with Flink's prefix for
    sources and sinks (`Source: name`, `Sink: name`).

    Raises ClusterError with the job's vertices if an operator has none, or more than one.
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
    """The same operators, each with the largest parallelism that the running job allows."""
    return replace(
        topology,
        operators=tuple(replace(o, max_parallelism=vertices[o.name].max_parallelism) for o in topology.operators),
    )


def slots_needed(job: Job, parallelism: Mapping[str, int]) -> int:
    """Slots for a parallelism per vertex id: a slot holds one subtask of every vertex of its slot sharing group."""
    widest: dict[str, int] = defaultdict(int)
    for vertex in job.vertices:
        widest[vertex.slot_group] = max(widest[vertex.slot_group], parallelism[vertex.id])
    return sum(widest.values())
