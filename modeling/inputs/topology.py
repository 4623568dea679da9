"""The logical topology: operators and the streams between them. A topology with a cycle cannot exist."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

from modeling.errors import ModelError


class Grouping(StrEnum):
    """How a stream's tuples are routed to the instances of the reading operator."""

    SHUFFLE = "shuffle"
    FIELDS = "fields"
    ALL = "all"
    GLOBAL = "global"
    FORWARD = "forward"
    RESCALE = "rescale"
    LOCAL_OR_SHUFFLE = "local_or_shuffle"
    CUSTOM = "custom"

    @classmethod
    def _missing_(cls, value: object) -> "Grouping | None":
        # Accept the engines' own words, and capitals as in their code.
        word = str(value).strip().lower().replace("-", "_")
        return next((each for each in cls if each == word), _OTHER_WORDS.get(word))


_OTHER_WORDS = {
    "rebalance": Grouping.SHUFFLE,
    "none": Grouping.SHUFFLE,
    "hash": Grouping.FIELDS,
    "key_by": Grouping.FIELDS,
    "broadcast": Grouping.ALL,
    "lowest": Grouping.GLOBAL,
    "direct": Grouping.CUSTOM,
    "localorshuffle": Grouping.LOCAL_OR_SHUFFLE,
}


class Engine(StrEnum):
    """The stream processor of the topology, which determines how keys are assigned to instances."""

    FLINK = "flink"
    STORM = "storm"
    HERON = "heron"


@dataclass(frozen=True)
class Operator:
    """One operator. max_parallelism: maximum number of instances (Flink: key groups; Storm: tasks). partitions: of what
    a source reads, each by one instance; None if its input is shared evenly by any number of instances.
    """

    name: str
    max_parallelism: int = 128
    partitions: int | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ModelError("an operator has no name; give each operator a name of its own")
        if self.max_parallelism < 1:
            raise ModelError(f"operator {self.name!r}: max_parallelism {self.max_parallelism} < 1; give at least 1")
        if self.partitions is not None and self.partitions < 1:
            raise ModelError(f"operator {self.name!r}: partitions {self.partitions} < 1; give at least 1, or none")

    @property
    def max_busy(self) -> int:
        """Number of instances that can have work: further ones of a partitioned source stay idle."""
        return self.max_parallelism if self.partitions is None else min(self.max_parallelism, self.partitions)


SHARES_TOLERANCE = 1e-6
"""By which custom shares may miss 1, as written with six digits."""


@dataclass(frozen=True)
class Stream:
    """An edge from one operator to another.

    label: distinguishes streams between the same two operators, such as the two sides of a self-join. shares: under
    CUSTOM, of each reading instance; if empty they are unknown, and any parallelism can be asked of.
    """

    upstream: str
    downstream: str
    grouping: Grouping = Grouping.SHUFFLE
    label: str = ""
    shares: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """`a->b`, or `a->b:label`."""
        return f"{self.upstream}->{self.downstream}" + (f":{self.label}" if self.label else "")

    @property
    def gives_parallelism(self) -> bool:
        """Whether its shares are known, which are of one parallelism of the reading operator."""
        return self.grouping is Grouping.CUSTOM and bool(self.shares)


@dataclass(frozen=True)
class Topology:
    """A directed acyclic graph of operators. Sources are the operators without input streams.

    Raises ModelError for a cycle, an unknown or repeated operator, a repeated stream, no operators, and custom shares
    that fit no parallelism of the operator.
    """

    name: str
    operators: tuple[Operator, ...]
    streams: tuple[Stream, ...]
    engine: Engine = Engine.FLINK

    def __post_init__(self) -> None:
        where = f"topology {self.name!r}"
        names = [operator.name for operator in self.operators]
        entered = {stream.downstream for stream in self.streams}
        if inner := [each.name for each in self.operators if each.partitions is not None and each.name in entered]:
            raise ModelError(f"{where}: operator {inner[0]!r} has partitions but is no source; leave them out")
        if not names:
            raise ModelError(f"{where} has no operators; give at least a source")
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ModelError(f"{where}: operator {repeated[0]!r} is given twice; names are unique")
        for stream in self.streams:
            for end in (stream.upstream, stream.downstream):
                if end not in names:
                    raise ModelError(
                        f"{where}: stream {stream.name} names the unknown operator {end!r}; "
                        f"known are {', '.join(names)}; correct it, or add it"
                    )
        if len({stream.name for stream in self.streams}) < len(self.streams):
            raise ModelError(f"{where}: a stream is given twice; merge them into one, or give each a label of its own")
        self._check_shares(where)
        try:
            _ = self.order
        except CycleError as error:
            path = " -> ".join(error.args[1])
            raise ModelError(
                f"{where} has the cycle {path}; remove one of these streams: they must form no cycle"
            ) from None

    def _check_shares(self, where: str) -> None:
        most = {operator.name: operator.max_parallelism for operator in self.operators}
        first: dict[str, Stream] = {}
        for stream in (stream for stream in self.streams if stream.gives_parallelism):
            count, reader = len(stream.shares), stream.downstream
            if abs(sum(stream.shares) - 1) > SHARES_TOLERANCE:
                raise ModelError(
                    f"{where}: stream {stream.name} gives shares that add up to {sum(stream.shares):.6g}; give numbers "
                    "from 0 to 1 that add up to 1"
                )
            if count > most[reader]:
                raise ModelError(
                    f"{where}: stream {stream.name} gives {count} shares, more than the max_parallelism {most[reader]} "
                    f"of {reader!r}; give fewer shares, or a larger max_parallelism"
                )
            other = first.setdefault(reader, stream)
            if len(other.shares) != count:
                raise ModelError(
                    f"{where}: stream {stream.name} gives {count} shares, {other.name} {len(other.shares)}; give as "
                    f"many of each: one for every instance of {reader!r}"
                )

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Upstream and downstream operator of each stream; once for several streams between the same two."""
        return tuple(dict.fromkeys((stream.upstream, stream.downstream) for stream in self.streams))

    def readers(self, operator: str) -> tuple[str, ...]:
        """Operators that an operator sends to, each once."""
        return tuple(dict.fromkeys(stream.downstream for stream in self.outputs(operator)))

    def senders(self, operator: str) -> tuple[str, ...]:
        """Operators that an operator reads from, each once."""
        return tuple(dict.fromkeys(stream.upstream for stream in self.inputs(operator)))

    @cached_property
    def reached(self) -> Mapping[str, frozenset[str]]:
        """By operator, all operators that its tuples may reach, without itself."""
        found: dict[str, frozenset[str]] = {}
        for name in reversed(self.order):
            found[name] = frozenset(self.readers(name)).union(*(found[each] for each in self.readers(name)))
        return found

    @cached_property
    def forks(self) -> frozenset[str]:
        """Operators whose tuples of two readers or more may meet again."""
        ways = {name: [self.reached[each] | {each} for each in self.readers(name)] for name in self.order}
        return frozenset(name for name, each in ways.items() if any(one & two for one, two in combinations(each, 2)))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Operators in topological order, those of the same depth as the streams reach them."""
        sorter = TopologicalSorter[str]({operator.name: () for operator in self.operators})
        for upstream, downstream in self.edges:
            sorter.add(downstream, upstream)
        return tuple(sorter.static_order())

    @cached_property
    def sources(self) -> tuple[str, ...]:
        entered = {stream.downstream for stream in self.streams}
        return tuple(name for name in self.order if name not in entered)

    @cached_property
    def _inputs(self) -> Mapping[str, tuple[Stream, ...]]:
        return self._by("downstream")

    @cached_property
    def _outputs(self) -> Mapping[str, tuple[Stream, ...]]:
        return self._by("upstream")

    def _by(self, end: str) -> dict[str, tuple[Stream, ...]]:
        found: dict[str, list[Stream]] = {name: [] for name in self.order}
        for stream in self.streams:
            found[getattr(stream, end)].append(stream)
        return {name: tuple(streams) for name, streams in found.items()}

    def inputs(self, operator: str) -> tuple[Stream, ...]:
        return self._inputs[operator]

    def outputs(self, operator: str) -> tuple[Stream, ...]:
        return self._outputs[operator]

    @cached_property
    def _operators(self) -> Mapping[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def max_parallelism(self) -> Mapping[str, int]:
        """By operator."""
        return {operator.name: operator.max_parallelism for operator in self.operators}

    @cached_property
    def given_parallelism(self) -> Mapping[str, int]:
        """Parallelism of operators fixed by the shares of a custom grouping, one per instance."""
        return {stream.downstream: len(stream.shares) for stream in self.streams if stream.gives_parallelism}

    def operator(self, name: str) -> Operator:
        if name not in self._operators:
            raise ModelError(f"topology {self.name!r} has no operator {name!r}; known are {', '.join(self.order)}")
        return self._operators[name]
