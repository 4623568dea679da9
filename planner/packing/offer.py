"""What containers may be had: how large, how many, on which nodes, and what they keep for themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.site import NOWHERE, Site
from planner.errors import PlanError

UNITS = {"cores": "cores", "memory_mib": "MiB of memory", "disk_mib": "MiB of disk"}
"""As messages name the columns of sizes."""


@dataclass(frozen=True)
class Padding:
    """What a container keeps for itself (stream manager, JVM), of each resource that is bounded: the larger of `share`
    of its size and the amount. It counts inside the size, as in Heron, whose own amounts are `HERON`.
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
    """None where nothing bounds.

    site: the size of its containers, how fast nodes are, and the network between them. max_instances: of one container.
    containers: as many as instances are dealt to, or begun with; for packers that open what they need, the most.
    max_containers: the most for all of them. nodes: by name, how many containers fit there; empty where nobody says.
    slots: of each container (Flink). slot_groups: the slot-sharing group of an operator, `default` where it is absent.
    evenly: whether slots are spread over containers instead of filling one after the other.
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
        """Of a container, infinite where nothing bounds it: cores, MiB of memory, MiB of disk."""
        bounds = (self.site.container.cores, self.site.container.memory_mib, self.disk_mib)
        return np.array([np.inf if bound is None else bound for bound in bounds])

    @cached_property
    def kept(self) -> Floats:
        """Padding of a container: cores, MiB of memory, MiB of disk."""
        amounts = np.array([self.padding.cores, self.padding.memory_mib, self.padding.disk_mib])
        return np.asarray(np.maximum(amounts, np.where(np.isfinite(self.size), self.size, 0.0) * self.padding.share))

    @cached_property
    def room(self) -> Floats:
        """For the instances of one container."""
        return np.asarray(self.size - self.kept)

    @property
    def most(self) -> int | None:
        """Containers that there may be: as max_containers and the nodes say."""
        bounds = [] if self.max_containers is None else [self.max_containers]
        counts = list(self.nodes.values())
        if counts and None not in counts:
            bounds.append(sum(count for count in counts if count is not None))
        return min(bounds, default=None)

    def factor(self, node: str) -> float:
        """By what an instance needs more CPU there than it was measured with."""
        return float(self.site.service_factor.get(node, 1.0))

    @property
    def least_factor(self) -> float:
        """On the fastest node."""
        return min((self.factor(node) for node in self.nodes), default=1.0)


def site_nodes(site: Site) -> set[str]:
    """All that the site names: with a speed of their own, or at the end of a link."""
    return {*site.service_factor, *(site.network.nodes if site.network is not None else ())}


def offered_nodes(site: Site, named: Mapping[str, int | None], place: str) -> Mapping[str, int | None]:
    """Those that are named; else all that the site knows, with as many containers as need be. place: where they are
    named, for messages. Raises PlanError for one that no link of the site leads to.
    """
    known = site_nodes(site)
    if site.network is not None and (unknown := sorted(set(named) - known)):
        raise PlanError(f"{place} {unknown[0]}: no link of the site leads there; they join {', '.join(sorted(known))}")
    return named or dict.fromkeys(sorted(known))


def padding_of(text: str | float, place: str) -> Padding:
    """A share, or `heron` for its own amounts. Raises PlanError for another."""
    if text == "heron":
        return HERON
    try:
        share = float(text)
    except ValueError:
        raise PlanError(f"{place} {text!r} is not a share; give one like 0.1, or heron") from None
    return Padding(share)
