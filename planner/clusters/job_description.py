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
    seconds of one instance per tuple, None where nothing was counted. evidence: what the numbers are from. question:
    what a person must answer of it, empty where nothing is open. cores, memory_mib: reserved for one instance, None
    where nobody tells.
    """

    name: str
    component: str
    parallelism: int
    max_parallelism: int | None = None
    service_s: float | None = None
    evidence: str = ""
    question: str = ""
    cores: float | None = None
    memory_mib: float | None = None


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
class DescribedTerm:
    """A field of what is planned under that the engine tells, by its name in the section `planning`."""

    name: str
    value: str | float | Mapping[str, int]
    evidence: str = ""
    question: str = ""


@dataclass(frozen=True)
class TopicFeed:
    """What an operator reads, as its scaler tells. servers: of Kafka. group: None where nobody tells. login: what the
    scaler logs in with, empty where nothing says that it does.
    """

    servers: str
    topic: str
    group: str | None
    evidence: str
    login: str = ""


@dataclass(frozen=True)
class CounterFeed:
    """A counter of Prometheus by whose rate a scaler scales an operator. The rest as of TopicFeed."""

    url: str
    selector: str
    evidence: str
    login: str = ""


Feed = TopicFeed | CounterFeed


@dataclass(frozen=True)
class JobDescription:
    """name: the job's in its engine. place: where it was read, without secrets. runs: whether it can be measured now;
    state: what the engine calls that. terms: of planning that the engine tells. topics: per source the topics of Kafka
    that topics_by name. feeds: per operator what its scaler goes by; feed_remarks: on what they go by besides. series:
    per operator the labels that its series of Prometheus bear, as PromQL has them; empty where the engine's own
    reporter names them. streams_question: what a person must answer where the engine does not tell streams, empty where
    it does.
    """

    name: str
    engine: Engine
    place: str
    runs: bool
    state: str
    operators: Sequence[DescribedOperator]
    streams: Sequence[DescribedStream]
    terms: Sequence[DescribedTerm] = ()
    topics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    topics_by: str = "metrics"
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    feed_remarks: Sequence[str] = ()
    series: Mapping[str, str] = field(default_factory=dict)
    streams_question: str = ""

    @property
    def fed(self) -> tuple[str, ...]:
        """The sources whose arrivals must be counted. Where streams are open: those that anything is told of."""
        told = [name for name in self.sources if name in self.topics or name in self.feeds]
        return tuple(told) if self.streams_question and told else self.sources

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
