"""The containers on offer: size, number, nodes, and what they reserve for themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.site import NOWHERE, Site
from planner.errors import PlanError

UNITS = {"cores": "cores", "memory_mib": "MiB of memory", "disk_mib": "MiB of disk"}
"""Names of the columns of sizes in messages."""


@dataclass(frozen=True)
class Padding:
    """What a container reserves for itself (stream manager, JVM), of each bounded resource: the larger of `share` of
    its size and the amount. It is part of the size, as in Heron, whose amounts are `HERON`.
    """

    share: float = 0.0
    cores: float = 0.0
    memory_mib: float = 0.0
    disk_mib: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise PlanError(f"padding {self.share:g} of a container's size; give a share of 0 or more, below 1")
        for name in UNITS:
            if not (isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise PlanError(f"padding: {name} {getattr(self, name)}; give a finite amount, not below 0")


HERON = Padding(0.1, 1.0, 1024.0, 1024.0)


@dataclass(frozen=True)
class Offer:
    """Bounds on containers; None for no bound.

    site: container size, node speeds, and the network between nodes. max_instances: per container. containers: number
    that instances are assigned to, or that packing begins with; the maximum for packers that open containers as needed.
    max_containers: the maximum for all packers. nodes: by name, how many containers fit there; empty if unknown. slots:
    per container (Flink). slot_groups: slot-sharing group by operator, `default` if missing. evenly: spread slots over
    containers instead of filling one after the other. yields_cores: instances may take the cores of the padding, since
    a container that lacks them is slow and works, while one that lacks memory ends.
    """

    site: Site = NOWHERE
    disk_mib: float | None = None
    padding: Padding = Padding()
    max_instances: int | None = None
    containers: int | None = None
    max_containers: int | None = None
    nodes: Mapping[str, int | None] = field(default_factory=dict)
    slots: int = 1
    slot_groups: Mapping[str, str] = field(default_factory=dict)
    evenly: bool = False
    yields_cores: bool = False

    def __post_init__(self) -> None:
        for name in ("max_instances", "containers", "max_containers", "slots"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise PlanError(f"{name} {count}; give at least 1, or leave it out")
        for node, count in self.nodes.items():
            if not node or (count is not None and count < 1):
                raise PlanError(f"node {node!r} holds {count} containers; give a name, and at least 1")
        for at, unit in enumerate(UNITS.values()):
            if not self.room[at] > 0:
                size = self.size[at]
                raise PlanError(
                    f"a container of {size:g} {unit} keeps {size - self.room[at]:g} for itself, and has nothing left; "
                    "give larger containers, or less padding"
                )

    @cached_property
    def size(self) -> Floats:
        """Of a container, infinite if unbounded: cores, MiB of memory, MiB of disk."""
        bounds = (self.site.container.cores, self.site.container.memory_mib, self.disk_mib)
        return np.array([np.inf if bound is None else bound for bound in bounds])

    @cached_property
    def kept(self) -> Floats:
        """Padding of a container: cores, MiB of memory, MiB of disk."""
        amounts = np.array([self.padding.cores, self.padding.memory_mib, self.padding.disk_mib])
        kept = np.maximum(amounts, np.where(np.isfinite(self.size), self.size, 0.0) * self.padding.share)
        return np.asarray(kept * (0.0, 1.0, 1.0) if self.yields_cores else kept)

    @cached_property
    def room(self) -> Floats:
        """What a container has for instances."""
        return np.asarray(self.size - self.kept)

    @property
    def most(self) -> int | None:
        """Maximum number of containers, from max_containers and the nodes."""
        bounds = [] if self.max_containers is None else [self.max_containers]
        counts = list(self.nodes.values())
        if counts and None not in counts:
            bounds.append(sum(count for count in counts if count is not None))
        return min(bounds, default=None)

    def factor(self, node: str) -> float:
        """CPU that an instance needs on this node, as a multiple of what was measured."""
        return float(self.site.service_factor.get(node, 1.0))

    @property
    def least_factor(self) -> float:
        """On the fastest node."""
        return min((self.factor(node) for node in self.nodes), default=1.0)


def site_nodes(site: Site) -> set[str]:
    """All nodes in the site: with their own speed, or at the end of a link."""
    return {*site.service_factor, *(site.network.nodes if site.network is not None else ())}


def offered_nodes(site: Site, named: Mapping[str, int | None], place: str) -> Mapping[str, int | None]:
    """The named nodes; else all of the site's, with unlimited containers. place: where they are named, for messages.
    Raises PlanError for a node without a link in the site.
    """
    known = site_nodes(site)
    if site.network is not None and (unknown := sorted(set(named) - known)):
        raise PlanError(f"{place} {unknown[0]}: no link of the site leads there; they join {', '.join(sorted(known))}")
    return named or dict.fromkeys(sorted(known))


def padding_of(text: str | float, place: str) -> Padding:
    """A share, or `heron` for Heron's amounts. Raises PlanError for other values."""
    if text == "heron":
        return HERON
    try:
        share = float(text)
    except ValueError:
        raise PlanError(f"{place} {text!r} is not a share; give one like 0.1, or heron") from None
    return Padding(share)
