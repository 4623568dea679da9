"""The physical plan: the parallelism of each operator and, if the scheduler lets us choose, the packing."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

from modeling.errors import ModelError
from modeling.inputs.topology import Topology

MAX_PARALLELISM = 32_768
"""Maximum of one operator: Flink's maximum number of key groups. No scheduler runs more."""


def adds_instances(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Whether any operator gains instances, so that the change waits for them. Instances given up by another operator
    do not help: the old plan runs until the new instances are there.

    >>> adds_instances({"a": 3, "b": 1}, {"a": 1, "b": 2})
    True
    """
    return any(count > before.get(name, 0) for name, count in after.items())


@dataclass(frozen=True, order=True)
class Instance:
    """One copy of an operator; index counts from 0 within the operator."""

    operator: str
    index: int

    def __str__(self) -> str:
        return f"{self.operator}[{self.index}]"


@dataclass(frozen=True)
class Container:
    """A task manager (Flink), worker (Storm) or container (Heron) with its instances. node: the machine that it runs
    on; empty if unknown.
    """

    id: int
    instances: tuple[Instance, ...]
    node: str = ""


@dataclass(frozen=True)
class PhysicalPlan:
    """Parallelism per operator, and the packing. An empty packing leaves the placement to the engine.

    Counts may be integers of any type, including numpy's; they are stored as int. Raises ModelError for a parallelism
    below 1, and for a packing that places an instance twice or not at all.
    """

    topology: str
    parallelism: Mapping[str, int]
    packing: tuple[Container, ...] = ()

    def __post_init__(self) -> None:
        for operator, count in self.parallelism.items():
            # A fast path, since searches make many thousands of plans, all from plain ints.
            if type(count) is int and 1 <= count <= MAX_PARALLELISM:
                continue
            if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
                raise ModelError(
                    f"plan of topology {self.topology!r}: parallelism {count!r} of operator {operator!r}; "
                    "give a whole number of at least 1"
                )
            if count > MAX_PARALLELISM:
                raise ModelError(
                    f"plan of topology {self.topology!r}: parallelism {count} of operator {operator!r} > "
                    f"{MAX_PARALLELISM}; lower it"
                )
        object.__setattr__(self, "parallelism", {operator: int(count) for operator, count in self.parallelism.items()})
        if not self.packing:
            return
        placed = [instance for container in self.packing for instance in container.instances]
        if twice := sorted(instance for instance, times in Counter(placed).items() if times > 1):
            raise ModelError(f"plan of topology {self.topology!r} places {twice[0]} twice; place each instance once")
        if twice_id := sorted(id for id, times in Counter(c.id for c in self.packing).items() if times > 1):
            raise ModelError(
                f"plan of topology {self.topology!r} has two containers {twice_id[0]}; give each its own id"
            )
        wanted = {Instance(operator, i) for operator, count in self.parallelism.items() for i in range(count)}
        if lost := sorted(wanted - set(placed)):
            raise ModelError(f"plan of topology {self.topology!r} does not place {lost[0]}; place each instance once")
        if extra := sorted(set(placed) - wanted):
            raise ModelError(
                f"plan of topology {self.topology!r} places {extra[0]}, which its parallelism does not ask for; "
                "remove it, or raise the parallelism"
            )

    @cached_property
    def container_positions(self) -> Mapping[str, tuple[int, ...]]:
        """Per operator the index in `packing` of each instance's container; empty without a packing."""
        if not self.packing:
            return {}
        found = {operator: [0] * count for operator, count in self.parallelism.items()}
        for position, container in enumerate(self.packing):
            for instance in container.instances:
                found[instance.operator][instance.index] = position
        return {operator: tuple(positions) for operator, positions in found.items()}

    @property
    def places_nodes(self) -> bool:
        """Whether the plan names the node of every instance."""
        return bool(self.packing) and all(container.node for container in self.packing)

    def check(self, topology: Topology) -> None:
        """Raises ModelError unless the plan is of this topology and names exactly its operators, within bounds."""
        if self.topology != topology.name:
            raise ModelError(
                f"plan of topology {self.topology!r} is none of {topology.name!r}; give a plan of this topology"
            )
        known = {operator.name: operator for operator in topology.operators}
        for name, count in self.parallelism.items():
            if name not in known:
                raise ModelError(
                    f"plan names the unknown operator {name!r}; topology {topology.name!r} has {', '.join(known)}"
                )
            if count > known[name].max_parallelism:
                raise ModelError(
                    f"plan: parallelism {count} of operator {name!r} > its max_parallelism "
                    f"{known[name].max_parallelism}; lower it, or restart the job with a larger one"
                )
        if lacking := [name for name in known if name not in self.parallelism]:
            raise ModelError(f"plan gives no parallelism for operator {lacking[0]!r}; name every operator")

    @property
    def instances(self) -> int:
        return sum(self.parallelism.values())

    @property
    def plan_id(self) -> str:
        """Twelve hex digits, equal for equal plans."""
        packing = sorted(self.packing, key=lambda container: container.id)
        body: dict[str, object] = {
            "topology": self.topology,
            "parallelism": dict(sorted(self.parallelism.items())),
            "packing": [[int(c.id), sorted((i.operator, int(i.index)) for i in c.instances)] for c in packing],
        }
        if any(c.node for c in self.packing):
            body["nodes"] = [[int(c.id), c.node] for c in packing]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]

    def same_parallelism(self, other: "PhysicalPlan") -> bool:
        return dict(self.parallelism) == dict(other.parallelism)

    def brief(self) -> str:
        """One line for people: `ingest 1 · transcribe 12 · count 2`."""
        return " · ".join(f"{operator} {count}" for operator, count in self.parallelism.items())
