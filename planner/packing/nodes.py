"""Nodes in turn: the node of the next container in an even spread."""

from collections import Counter
from collections.abc import Collection, Iterable

from modeling.wording import count_of
from planner.errors import PlanError
from planner.packing.offer import Offer


def next_node(offer: Offer, taken: Iterable[str], among: Collection[str]) -> str:
    """The node with the fewest containers; of these the one that can hold the most (Storm's order of slots,
    `EvenScheduler.sortSlots`), then the fastest, then the first by name. Empty if no nodes are offered. taken: node of
    each existing container. among: nodes to choose from.

    Raises PlanError if all of them are full.
    """
    if not offer.nodes:
        return ""
    used = Counter(taken)
    free = [node for node in free_nodes(offer, used) if node in among]
    if not free:
        full = sorted(among) or sorted(offer.nodes)
        raise PlanError(
            f"nodes {', '.join(full)} hold {count_of(sum(used[node] for node in full), 'container')} and have no room "
            "for another that is suitable; offer further nodes, more containers on them, or larger ones"
        )
    return min(free, key=lambda node: (used[node], -_holds(offer, node), offer.factor(node), node))


def free_nodes(offer: Offer, used: Counter[str]) -> list[str]:
    """Nodes with room for another container."""
    return [node for node in sorted(offer.nodes) if used[node] < _holds(offer, node)]


def _holds(offer: Offer, node: str) -> float:
    bound = offer.nodes[node]
    return float("inf") if bound is None else bound
