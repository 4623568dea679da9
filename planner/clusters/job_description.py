"""What an engine tells of a job that nobody has described: its operators, its streams, and what feeds its sources.

Every number has its evidence, and what the engine does not tell is a question for a person.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from modeling.inputs.topology import Engine, Grouping


@dataclass(frozen=True)
class DescribedOperator:
    """component: what the engine calls it. max_parallelism: None where the engine does not limit it. service_s: busy
    seconds of one instance per tuple, None where nothing was counted. evidence: what service_s is from. question: what
    a person must answer of it, empty where nothing is open.
    """

    name: str
    component: str
    parallelism: int
    max_parallelism: int | None = None
    service_s: float | None = None
    evidence: str = ""
    question: str = ""


@dataclass(frozen=True)
class DescribedStream:
    """selectivity: tuples out per tuple into the upstream operator, None where nothing tells. evidence: how the engine
    calls its grouping, and what selectivity is from.
    """

    upstream: str
    downstream: str
    grouping: Grouping
    label: str = ""
    selectivity: float | None = None
    evidence: str = ""
    question: str = ""


@dataclass(frozen=True)
class JobDescription:
    """name: the job's in its engine. place: where it was read, without secrets. runs: whether it can be measured now;
    state: what the engine calls that. slots: how many instances of each operator find room, None where nobody tells.
    topics: per source the topics of Kafka that its metrics name.
    """

    name: str
    engine: Engine
    place: str
    runs: bool
    state: str
    operators: Sequence[DescribedOperator]
    streams: Sequence[DescribedStream]
    slots: int | None = None
    topics: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        entered = {stream.downstream for stream in self.streams}
        return tuple(operator.name for operator in self.operators if operator.name not in entered)

    @property
    def sinks(self) -> tuple[str, ...]:
        left = {stream.upstream for stream in self.streams}
        return tuple(operator.name for operator in self.operators if operator.name not in left)

    @property
    def components(self) -> dict[str, str]:
        """Operator → component, where their names differ."""
        return {each.name: each.component for each in self.operators if each.name != each.component}


def grouping_of(word: str) -> tuple[Grouping, str]:
    """The grouping of an engine's word for it, and the question that it leaves open, if any.

    >>> grouping_of("SHUFFLE"), grouping_of("HASH")
    ((<Grouping.SHUFFLE: 'shuffle'>, ''), (<Grouping.FIELDS: 'fields'>, ''))
    """
    try:
        grouping = Grouping(word.lower())
    except ValueError:
        grouping = Grouping.CUSTOM
    if grouping is not Grouping.CUSTOM:
        return grouping, ""
    return grouping, "which share of the tuples goes to each instance? Give shares: […]; even ones are assumed"


def unlike_names(names: Iterable[str]) -> list[str]:
    """The same names, a number behind each that stood before.

    >>> unlike_names(["map", "sink", "map"])
    ['map', 'sink', 'map-2']
    """
    ordered: list[str] = []
    seen: set[str] = set()
    for name in names:
        number, free = 1, name
        while free in seen:
            number += 1
            free = f"{name}-{number}"
        seen.add(free)
        ordered.append(free)
    return ordered


def topology_name(job: str) -> str:
    """The job's name, with a dash for each run of letters that names of topologies do not have.

    >>> topology_name("Word count (v2)")
    'Word-count-v2'
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", job).strip("-_.")[:80] or "topology"
