"""Removals: which instances leave a running packing when a parallelism falls, and how the others are renumbered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from planner.packing.packer import Packing
from planner.packing.workload import Workload


def survivors(running: Packing, work: Workload) -> Packing:
    """The running packing without the instances that `work` no longer has; emptied containers stay, to be filled again.

    Heron's order (its scorers): operators with the largest instances first; each time from a container that holds
    nothing else, then from the one with the fewest instances, then the largest share of the operator, then the highest
    id. Within a container the highest index is removed. The remaining instances are renumbered in order, as by an
    engine that numbers by rank. Raises ModelError for a packing that does not fit the topology.
    """
    counts = placed_counts(running, work)
    held: dict[int, dict[str, list[int]]] = {container.id: {} for container in running}
    for container in running:
        for instance in sorted(container.instances):
            held[container.id].setdefault(instance.operator, []).append(instance.index)
    for name in work.by_memory():
        _remove(held, name, counts.get(name, 0) - work.parallelism[name])
    ranks = _ranks(held)
    return tuple(
        Container(
            each.id,
            tuple(Instance(name, ranks[name][at]) for name, left in held[each.id].items() for at in left),
            each.node,
        )
        for each in running
    )


def additions(running: Packing, work: Workload, order: Sequence[str]) -> list[int]:
    """Positions of the instances that the running packing does not have, operators in this order."""
    counts = placed_counts(running, work)
    return [at for name in order for at in work.positions(name, min(counts.get(name, 0), work.parallelism[name]))]


def placed_counts(running: Packing, work: Workload) -> Mapping[str, int]:
    """Running instances of each operator. Raises ModelError for a packing that does not fit the topology."""
    counts = Counter(instance.operator for container in running for instance in container.instances)
    lacking = {name: 1 for name in work.parallelism if name not in counts}
    PhysicalPlan(work.topology.name, {**counts, **lacking}).check(work.topology)
    # Checks that each instance is placed once and that container ids are unique.
    PhysicalPlan(work.topology.name, dict(counts), running)
    return counts


def _remove(held: Mapping[int, dict[str, list[int]]], name: str, excess: int) -> None:
    choice = [_score(held[id], name, id) for id in held if held[id].get(name)]
    heapify(choice)
    for _ in range(excess):
        id = -heappop(choice)[-1]
        held[id][name].pop()
        if held[id][name]:
            heappush(choice, _score(held[id], name, id))


def _score(container: Mapping[str, list[int]], name: str, id: int) -> tuple[bool, int, int, int]:
    """The container with the smallest score loses an instance. Among equal totals, the most instances of the operator
    is also the largest share.
    """
    total, own = sum(map(len, container.values())), len(container[name])
    return own < total, total, -own, -id


def _ranks(held: Mapping[int, Mapping[str, list[int]]]) -> dict[str, dict[int, int]]:
    left: dict[str, list[int]] = {}
    for container in held.values():
        for name, indices in container.items():
            left.setdefault(name, []).extend(indices)
    return {name: {index: rank for rank, index in enumerate(sorted(indices))} for name, indices in left.items()}
