"""R-Storm's order of tasks: breadth first from the sources, one instance of each operator in turn."""

from collections.abc import Iterable

from modeling.inputs.topology import Topology
from planner.packing.workload import Workload


def breadth_first(topology: Topology) -> list[str]:
    """Operators by the number of streams from the nearest source, then in topology order.

    >>> from modeling.inputs.topology import Operator, Stream
    >>> job = Topology("job", tuple(map(Operator, "abcd")), (Stream("a", "b"), Stream("b", "c"), Stream("a", "d")))
    >>> breadth_first(job)
    ['a', 'b', 'd', 'c']
    """
    depth: dict[str, int] = {}
    for name in topology.order:
        depth[name] = 1 + min((depth[each] for each in topology.senders(name)), default=-1)
    return sorted(topology.order, key=lambda name: (depth[name], topology.order.index(name)))


def in_turns(work: Workload, positions: Iterable[int]) -> list[int]:
    """These instances, one of each operator in turn, so that neighbours are placed close together."""
    rank = {name: at for at, name in enumerate(breadth_first(work.topology))}
    waiting: dict[str, list[int]] = {name: [] for name in rank}
    for at in positions:
        waiting[work.instances[at].operator].append(at)
    turn = {at: number for held in waiting.values() for number, at in enumerate(sorted(held))}
    return sorted(turn, key=lambda at: (turn[at], rank[work.instances[at].operator]))
