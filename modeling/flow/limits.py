"""Limits reached by a growing load: an operator, the cores of a container, or a link between two nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.flow.crossing import Crossing, by_place
from modeling.flow.idle_cores import IdleCores
from modeling.flow.rates import OperatorFlow
from modeling.inputs.placed import Placed
from modeling.inputs.site import Site
from modeling.inputs.topology import Engine, Grouping, Topology


@dataclass(frozen=True)
class OperatorLimit:
    """The busiest instance of an operator is busy all the time."""

    operator: str

    def __str__(self) -> str:
        return self.operator


@dataclass(frozen=True)
class ContainerLimit:
    """All cores of a container are in use."""

    id: int
    remedy: ClassVar[str] = "spread its instances over more containers, or give it more cores"

    def __str__(self) -> str:
        return f"container {self.id}"


@dataclass(frozen=True)
class LinkLimit:
    """The link from one node to another is full. Directions are assumed not to share bandwidth; pairs share that of a
    node's network card, if that is known.
    """

    sender: str
    receiver: str
    remedy: ClassVar[str] = "place what talks over it on one node, or widen the link"

    def __str__(self) -> str:
        return f"network {self.sender} → {self.receiver}"


@dataclass(frozen=True)
class CardLimit:
    """The network card of a node is full in one direction: all its links together have no more."""

    node: str
    sends: bool
    remedy: ClassVar[str] = "place what talks over it on one node, or give the node a faster card"

    def __str__(self) -> str:
        return f"network card of {self.node}, {'out' if self.sends else 'in'}"


SiteLimit = ContainerLimit | LinkLimit | CardLimit
"""Another packing may remedy it, another parallelism does not. remedy: as part of a sentence."""

Limit = OperatorLimit | SiteLimit


_Part = tuple[Floats, Floats]
"""Use of the limits per tuple per second of each term, shape (plans, terms, limits); and the rates of the terms, shape
(plans or 1, terms, scenarios)."""


NO_CORES = 1e-9
"""Share of its cores that a container counts as having for tuples, where it uses all of them without work."""


class SiteUse:
    """The loads' use of containers and links of plans, operator by operator, in topological order.

    Containers come first, then links from node to node, then network cards out and in, if any is known; the use of an
    unbounded one is zero. links: number of links and cards; streams of unknown size do not use them.
    """

    def __init__(self, topology: Topology, plans: Placed, site: Site) -> None:
        self._topology = topology
        self._plans = plans
        self._site = site
        self._containers = plans.containers if site.container.cores is not None and plans.container else 0
        sized = any(stream.name in site.bytes_per_tuple for stream in topology.streams)
        cards = [site.card_mbit_per_s.get(node, np.inf) for node in plans.nodes]
        self._cards = np.array(cards if np.isfinite(cards).any() else [])
        self.links = len(plans.nodes) ** 2 + 2 * self._cards.size if plans.nodes and sized else 0
        self.begun()

    def begun(self) -> "SiteUse":
        """An empty copy, with nothing used yet."""
        self._parts: tuple[list[_Part], list[_Part]] = ([], [])
        self._idle = IdleCores.none(self._plans, self._containers)
        return self

    @property
    def count(self) -> int:
        return self._containers + self.links

    @property
    def shares_cores(self) -> bool:
        """Whether instances share the cores of containers."""
        return self._containers > 0

    def take(self, flow: OperatorFlow, crossings: Sequence[tuple[str, Crossing]]) -> None:
        """crossings: of the operator's input streams, by name; needed if links are bounded."""
        containers, links = self._parts
        if self._containers:
            placed = by_place(flow.slowed[flow.row], self._plans.container[flow.name], self._containers)
            containers.append((placed, _by_plan(flow.cpu_per_s, flow.row)))
            self._idle = self._idle.plus(flow, self._plans)
        if self.links and self._site.network is not None:
            between = ~np.eye(len(self._plans.nodes), dtype=bool)
            for name, crossed in crossings:
                if name not in self._site.bytes_per_tuple:
                    continue
                stream = next(each for each in self._topology.inputs(flow.name) if each.name == name)
                mbit = self._site.bytes_per_tuple[name] * 8 / 1e6
                sent = crossed.part * (between * mbit)
                pairs = sent / self._site.network.bandwidth_mbit_per_s
                share = pairs.reshape(*pairs.shape[:2], -1)
                if self._cards.size:
                    out, into = sent.sum(axis=3) / self._cards, sent.sum(axis=2) / self._cards
                    share = np.concatenate([share, out, into], axis=2)
                if stream.grouping is Grouping.ALL:
                    share = share * self._plans.parallelism[flow.name][:, None, None]
                links.append((share, crossed.term_per_s()))

    def used(self) -> Floats:
        """The used share of each limit, shape (plans, limits, scenarios)."""
        containers, links = self._parts
        found = [_added_up(parts) for parts in (containers, links) if parts]
        if containers:
            found[0] = found[0] / self._cores_for_tuples()[:, :, None]
        return np.concatenate(found, axis=1)

    def _cores_for_tuples(self) -> Floats:
        """Cores of each container less what it uses without work, shape (plans, containers)."""
        cores = self._site.container.cores or np.inf
        return np.asarray(np.maximum(cores - self._idle.total, NO_CORES * cores))

    def limits(self, plan: int) -> list[Limit]:
        """The limits of one plan, in the order of `used`."""
        if not self.count:
            return []
        packing = self._plans.plans[plan].packing
        containers: list[Limit] = [ContainerLimit(container.id) for container in packing]
        containers += [ContainerLimit(-1)] * (self._containers - len(packing))
        nodes = self._plans.nodes if self.links else ()
        cards = [CardLimit(node, sends) for sends in (True, False) for node in nodes if self._cards.size]
        return [*containers[: self._containers], *(LinkLimit(a, b) for a in nodes for b in nodes), *cards]

    def slows(self) -> Flags:
        """Which sources each full limit throttles, shape (plans, operators and limits, sources): an operator those that
        feed it, a container those that feed its operators, a link all; in Heron each throttles all.
        """
        fed, plans = feeding_sources(self._topology), len(self._plans.plans)
        # Instances without a container go into an extra one, which is dropped.
        containers = np.zeros((plans, self._containers + 1, fed.shape[1]), dtype=bool)
        for slowed, name in zip(fed, self._topology.order, strict=True) if self._containers else ():
            there = np.zeros((plans, self._containers + 1), dtype=bool)
            there[np.arange(plans)[:, None], self._plans.container[name]] = True
            containers |= there[:, :, None] & slowed
        links = np.ones((plans, self.links, fed.shape[1]), dtype=bool)
        operators = np.broadcast_to(fed, (plans, *fed.shape))
        return np.concatenate([operators, containers[:, : self._containers], links], axis=1)


def _by_plan(of_rows: Floats, row: Ints) -> Floats:
    return of_rows if of_rows.shape[0] == 1 else np.asarray(of_rows[row])


def _added_up(parts: Sequence[_Part]) -> Floats:
    """Sum over all terms of all parts, shape (plans, limits, scenarios)."""
    alike = all(rates.shape[0] == 1 for _, rates in parts)
    shares = np.concatenate([share for share, _ in parts], axis=1).transpose(0, 2, 1)
    every = [r if alike else np.broadcast_to(r, (len(shares), *r.shape[1:])) for _, r in parts]
    return np.asarray(shares @ np.concatenate(every, axis=1))


def feeding_sources(topology: Topology) -> Flags:
    """Whether each operator, when full, throttles each source (Flink's credits, Storm's max pending), shape (operators,
    sources).
    """
    if topology.engine is Engine.HERON:
        return np.ones((len(topology.order), len(topology.sources)), dtype=bool)
    return np.array(
        [[name == source or name in topology.reached[source] for source in topology.sources] for name in topology.order]
    )
