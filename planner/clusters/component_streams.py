"""Maps a topology's streams to an engine's own, where engines name components and streams themselves (Heron, Storm)."""

from collections.abc import Iterable, Mapping, Sequence

from modeling.inputs.topology import Topology
from planner.clusters.cluster import SourceBacklog
from planner.errors import ClusterError

Read = tuple[str, str]
"""Component and stream that a component reads, by the engine's names."""


def component_of_operator(
    place: str, topology: Topology, operators: Mapping[str, str] | None, components: Sequence[str]
) -> dict[str, str]:
    """The component of each operator; the one of the same name unless `operators` gives another.

    Raises ClusterError for an unknown operator, and for a component that does not run or is given twice.
    """
    named = dict(operators or {})
    if unknown := sorted(set(named) - set(topology.order)):
        raise ClusterError(
            f"{place}: a component is given for {unknown[0]!r}, which is not an operator; known are "
            f"{', '.join(topology.order)}"
        )
    found = {name: named.get(name, name) for name in topology.order}
    for name, component in found.items():
        if component not in components:
            known = ", ".join(sorted(components)) or "none"
            raise ClusterError(
                f"{place} has no component {component!r} for operator {name!r}; its components are {known}. "
                "Correct its name, or name the component of each operator"
            )
        if others := [other for other in found if other != name and found[other] == component]:
            raise ClusterError(
                f"{place}: component {component!r} is given for operators {name!r} and {others[0]!r}; "
                "give each operator its own"
            )
    return found


def streams_read(
    place: str,
    topology: Topology,
    component_of: Mapping[str, str],
    reads: Mapping[str, Sequence[Read]],
) -> dict[str, tuple[str, ...]]:
    """The engine's streams that make up each stream of the topology; empty if none of them is read.

    reads: per operator. The engine's own components and streams, which begin with two underscores, are left out. If one
    stream connects two operators, it gets everything between them; if several do, each gets the engine's stream that
    matches its label. Raises ClusterError for something read that is not a stream of the topology.
    """
    found: dict[str, list[str]] = {stream.name: [] for stream in topology.streams}
    for name in topology.order:
        for component, stream_id in reads.get(name, ()):
            if component.startswith("__") or stream_id.startswith("__"):
                continue
            between = [stream for stream in topology.inputs(name) if component_of[stream.upstream] == component]
            if not between:
                raise ClusterError(
                    f"{place}: component {component_of[name]!r} reads stream {stream_id!r} of {component!r}, which "
                    f"topology {topology.name!r} lacks; add a stream that enters {name!r}"
                )
            meant = between if len(between) == 1 else [stream for stream in between if stream.label == stream_id]
            if not meant:
                labels = ", ".join(repr(stream.label) for stream in between)
                raise ClusterError(
                    f"{place}: component {component_of[name]!r} reads stream {stream_id!r} of {component!r}, but the "
                    f"streams between them are labelled {labels}; label each like the engine's stream"
                )
            found[meant[0].name].append(stream_id)
    return {name: tuple(ids) for name, ids in found.items()}


def unmeasured_spouts(engine: str, sources: Iterable[str], operators: Mapping[str, str]) -> dict[str, SourceBacklog]:
    """Backlogs for an engine that does not know them. operators: topology operator → component."""
    return {
        source: SourceBacklog(
            None,
            None,
            f"{engine} does not report the backlog of spout {operators.get(source, source)!r}; if it reads Kafka, name "
            "its consumer group in arrivals.group",
        )
        for source in sources
    }
