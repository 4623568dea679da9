"""Improves a placement: moves one instance to a better node with room, or swaps two."""

from collections.abc import Iterator

import numpy as np

from modeling.arrays import Ints
from planner.packing.open_containers import OpenContainers
from planner.packing.transit import MIN_GAIN, Transit

TRIED = 3
"""Swap partners to try, best first, while sizes or links rule them out."""


def moved(filled: OpenContainers, transit: Transit, position: int) -> bool:
    """Whether the instance moved to a better node."""
    node, cost = transit.node_of(position), transit.cost(position)
    better = np.flatnonzero(cost < cost[node] * (1 - MIN_GAIN))
    cheapest = better[np.argsort(cost[better], kind="stable")]
    room = dict(with_room(filled, transit, position, cheapest)) if better.size else {}
    if not room:
        return False
    transit.take(position)
    carried = transit.carried(position)
    best = next((each for each in room if carried[each]), node)
    if best == node:
        transit.put(position, node)
        return False
    filled.take(position, filled.holder(position))
    put(filled, transit, position, best, room[best])
    return True


def swapped(filled: OpenContainers, transit: Transit, position: int, partners: Ints) -> bool:
    """Whether the instance was swapped with one of the partners on another node, with a joint gain."""
    gains = transit.swap_gains(position, partners)
    for _ in range(min(TRIED, partners.size)):
        at = int(gains.argmax())
        if gains[at] <= MIN_GAIN:
            return False
        if _exchanged(filled, transit, position, int(partners[at])):
            return True
        gains[at] = 0.0
    return False


def _exchanged(filled: OpenContainers, transit: Transit, one: int, other: int) -> bool:
    """Whether both fit in each other's places and overload no link; otherwise nothing changes."""
    first, second = filled.holder(one), filled.holder(other)
    here, there = transit.node_of(one), transit.node_of(other)
    filled.take(one, first)
    filled.take(other, second)
    if not (filled.fits(one)[second] and filled.fits(other)[first]):
        filled.put(one, first)
        filled.put(other, second)
        return False
    transit.take(one)
    transit.take(other)
    carried = bool(transit.carried(one)[there])
    if carried:
        transit.put(one, there)
        carried = bool(transit.carried(other)[here])
        if not carried:
            transit.take(one)
    transit.put(other, here if carried else there)
    if not carried:
        transit.put(one, here)
    filled.put(one, second if carried else first)
    filled.put(other, first if carried else second)
    return carried


def with_room(filled: OpenContainers, transit: Transit, position: int, nodes: Ints) -> Iterator[tuple[int, int | None]]:
    """The nodes with room for an instance, each with its first container that has room; None: a new one can be opened
    there.
    """
    first = {filled.nodes[number]: int(number) for number in np.flatnonzero(filled.fits(position))[::-1]}
    further = () if filled.full else filled.free_nodes
    for node in nodes.tolist():
        name = transit.nodes[node]
        if name in first:
            yield node, first[name]
        elif name in further and filled.fits_on(position, name):
            yield node, None


def put(filled: OpenContainers, transit: Transit, position: int, node: int, number: int | None) -> None:
    """Put an instance into a container on a node; None: a new one."""
    filled.put(position, filled.open(transit.nodes[node]) if number is None else number)
    transit.put(position, node)
