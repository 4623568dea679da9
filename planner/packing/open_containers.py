"""Containers while they are filled: contents and remaining room, for the duration of one call of a packer."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.inputs.physical_plan import Container
from modeling.wording import count_of, rounded
from planner.errors import PlanError
from planner.packing.offer import UNITS, Offer
from planner.packing.packer import Packing
from planner.packing.workload import Workload

_ROUNDING = 1e-9


class OpenContainers:
    """Containers by index from 0, in the order of their ids. free_nodes: those with room for another container.

    Raises PlanError if an instance fits no possible container, even alone.
    """

    def __init__(self, offer: Offer, work: Workload, running: Packing = (), most: int | None = None) -> None:
        """running: containers to begin with, with instances of `work`. most: maximum number, in addition to the
        offer's.
        """
        self.offer, self.work = offer, work
        bounds = [bound for bound in (most, offer.most) if bound is not None]
        self.most = max(min(bounds), len(running)) if bounds else None
        self.ids: list[int] = []
        self.nodes: list[str] = []
        self.held: list[list[int]] = []
        self._room = offer.room * (1 + _ROUNDING)
        self._used = np.zeros((16, 3))
        self._factor = np.ones(16)
        self._count = np.zeros(16, dtype=np.int64)
        self.free_nodes = free_nodes(offer, Counter())
        _check_each_fits(offer, work)
        for container in sorted(running, key=lambda each: each.id):
            number = self._add(container.id, container.node)
            for instance in container.instances:
                self.put(work.position[instance], number)
        self.check("the instances that stay in it", "give larger containers, raise the parallelism, or pack anew")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def used(self) -> Floats:
        """What instances need of each container, on its node."""
        return self._used[: len(self)]

    @property
    def count(self) -> Ints:
        """Instances of each container."""
        return self._count[: len(self)]

    def size(self, position: int) -> Floats:
        """What an instance would need of each container, shape (containers, 3): on slow nodes it needs more CPU."""
        sizes = np.empty((len(self), 3))
        sizes[:] = self.work.sizes[position]
        sizes[:, 0] *= self._factor[: len(self)]
        return sizes

    def fits(self, position: int) -> Flags:
        """Which containers have room for an instance, shape (containers,)."""
        enough = np.asarray((self.used + self.size(position) <= self._room).all(axis=1))
        if self.offer.max_instances is not None:
            enough &= self.count < self.offer.max_instances
        return enough

    def fitting(self, number: int, positions: Ints) -> Flags:
        """Which of these instances one container has room for, shape (positions,)."""
        if self.offer.max_instances is not None and self.count[number] >= self.offer.max_instances:
            return np.zeros(positions.size, dtype=np.bool_)
        sizes = self.work.sizes[positions] * (self._factor[number], 1.0, 1.0)
        return np.asarray((self.used[number] + sizes <= self._room).all(axis=1))

    def fits_on(self, position: int, node: str) -> bool:
        """Whether an empty container there has room for an instance."""
        # Memory and disk needs are the same on every node, and were checked to fit.
        return float(self.work.sizes[position, 0]) * self.offer.factor(node) <= float(self._room[0])

    @property
    def full(self) -> bool:
        """Whether the maximum number of containers is open."""
        return self.most is not None and len(self) >= self.most

    def open(self, node: str | None = None) -> int:
        """A new container, its id one above the largest; on the next node in turn if none is given. Raises PlanError at
        the maximum number.
        """
        if self.full:
            raise PlanError(
                f"{len(self)} containers are the maximum, and one more is needed; allow more, give larger "
                "ones, or lower a parallelism"
            )
        where = next_node(self.offer, self.nodes, list(self.offer.nodes)) if node is None else node
        return self._add(max(self.ids, default=0) + 1, where)

    def put(self, position: int, number: int) -> None:
        """Put an instance into a container, whether or not it fits."""
        self._used[number] += self.work.sizes[position] * (self._factor[number], 1.0, 1.0)
        self._count[number] += 1
        self.held[number].append(position)

    def take(self, position: int, number: int) -> None:
        """Remove an instance from the container that holds it."""
        self._used[number] -= self.work.sizes[position] * (self._factor[number], 1.0, 1.0)
        self._count[number] -= 1
        self.held[number].remove(position)

    def holder(self, position: int) -> int:
        """The container that holds an instance."""
        return next(number for number, held in enumerate(self.held) if position in held)

    def place(self, position: int) -> int:
        """Put an instance into the first container with room, else into a new one. Raises PlanError if none can be
        opened.
        """
        fits = self.fits(position)
        number = int(fits.argmax()) if fits.any() else self.open_for(position)
        self.put(position, number)
        return number

    def open_for(self, position: int, preferred: Sequence[str] | None = None) -> int:
        """A new container on a node that is fast enough for the instance: the first preferred one, else the next in
        turn. Raises PlanError if there is none.
        """
        if self.full:
            raise PlanError(self._exhausted(position))
        fast = [node for node in preferred or self.offer.nodes if self.fits_on(position, node)]
        node = fast[0] if preferred and fast else next_node(self.offer, self.nodes, fast)
        return self._add(max(self.ids, default=0) + 1, node)

    def check(self, what: str, remedy: str) -> None:
        """Raises PlanError for an overfull container, with its contents (`what`) and a remedy."""
        limit = self.offer.max_instances
        for number, (used, count) in enumerate(zip(self.used, self.count, strict=True)):
            for at, unit in enumerate(UNITS.values()):
                if used[at] > self._room[at]:
                    need, has = rounded(used[at], 4), rounded(self._room[at], 4)
                    raise PlanError(
                        f"container {self.ids[number]}: {what} need {need} {unit}, it has {has} for them "
                        f"({self._largest_in(number, at)}); {remedy}"
                    )
            if limit is not None and count > limit:
                raise PlanError(
                    f"container {self.ids[number]} holds {count_of(count, 'instance')} > max_instances of {limit}; "
                    f"allow more of them, or {remedy}"
                )

    def packing(self) -> Packing:
        """Without empty containers, instances in order."""
        every = self.work.instances
        return tuple(
            Container(id, tuple(every[at] for at in sorted(held)), node)
            for id, held, node in zip(self.ids, self.held, self.nodes, strict=True)
            if held
        )

    def _add(self, id: int, node: str) -> int:
        number = len(self)
        if number == len(self._used):
            self._used = np.concatenate([self._used, np.zeros_like(self._used)])
            self._factor = np.concatenate([self._factor, np.ones_like(self._factor)])
            self._count = np.concatenate([self._count, np.zeros_like(self._count)])
        self.ids.append(id)
        self.nodes.append(node)
        self.held.append([])
        self._factor[number] = self.offer.factor(node)
        self.free_nodes = free_nodes(self.offer, Counter(self.nodes))
        return number

    def _largest_in(self, number: int, resource: int) -> str:
        largest = max(self.held[number], key=lambda at: float(self.work.sizes[at][resource]))
        return f"{self.work.instances[largest]} needs {rounded(self.work.sizes[largest][resource], 4)}"

    def _exhausted(self, position: int) -> str:
        instance, sizes = self.work.instances[position], self.work.sizes[position]
        parts = [f"{rounded(size, 4)} {unit}" for size, unit in zip(sizes, UNITS.values(), strict=True) if size > 0]
        return (
            f"no room for {instance} ({', '.join(parts) or 'which needs nothing'}): {len(self)} containers are the "
            f"maximum; allow more, give larger ones, or lower the parallelism of {instance.operator!r}"
        )


def _check_each_fits(offer: Offer, work: Workload) -> None:
    for name, largest in work.largest.items():
        needed = largest * (offer.least_factor, 1.0, 1.0)
        for at, unit in enumerate(UNITS.values()):
            if needed[at] <= offer.room[at] * (1 + _ROUNDING):
                continue
            positions = work.positions(name)
            worst = max(positions, key=lambda position: float(work.sizes[position][at]))
            kept = f" beside its padding of {rounded(offer.kept[at], 4)}" if offer.kept[at] else ""
            raise PlanError(
                f"{work.instances[worst]} needs {rounded(needed[at], 4)} {unit}, a container has "
                f"{rounded(offer.room[at], 4)}{kept}; raise the parallelism of {name!r}, or give containers "
                f"{rounded(needed[at] + offer.kept[at], 4)}"
            )


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
