"""What an engine reports about an undescribed job: its operators, its streams, and what feeds its sources.

Every number has its evidence; what the engine does not report becomes a question for a person.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from modeling.inputs.topology import Engine, Grouping

USUAL_IN_ALL = 64
"""Default of planning.max_instances in a topology file."""


@dataclass(frozen=True)
class DescribedOperator:
    """component: the engine's name for it. max_parallelism: None if the engine sets no limit. service_s: busy seconds
    of one instance per tuple, None if nothing was counted. evidence: where the numbers come from. question: what a
    person must answer, empty if nothing is open. cores, memory_mib: reserved for one instance, None if unknown.
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
    """selectivity: tuples out per tuple into the upstream operator, None if unknown. evidence: the engine's word for
    the grouping, and where the selectivity comes from.
    """

    upstream: str
    downstream: str
    grouping: Grouping
    label: str = ""
    selectivity: float | None = None
    evidence: str = ""
    question: str = ""


@dataclass(frozen=True)
class DescribedContainers:
    """Containers that share cores among instances, as the section `packing` has them. cores: of one. slot_groups: per
    operator; empty if all share slots.
    """

    packer: str
    cores: float
    slots: int
    slot_groups: Mapping[str, str]
    evidence: str


@dataclass(frozen=True)
class DescribedTerm:
    """A field of the section `planning` that the engine determines, by its name there."""

    name: str
    value: str | float | Mapping[str, int]
    evidence: str = ""
    question: str = ""


@dataclass(frozen=True)
class TopicFeed:
    """What an operator reads, according to its scaler. servers: of Kafka. group: None if unknown. login: how the scaler
    logs in, empty if it does not seem to.
    """

    servers: str
    topic: str
    group: str | None
    evidence: str
    login: str = ""


@dataclass(frozen=True)
class CounterFeed:
    """A Prometheus counter by whose rate a scaler scales an operator. Other fields as for TopicFeed."""

    url: str
    selector: str
    evidence: str
    login: str = ""


Feed = TopicFeed | CounterFeed


@dataclass(frozen=True)
class JobDescription:
    """name: the job's name in its engine. place: where it was read, without secrets. runs: whether it can be measured
    now; state: the engine's word for that. terms: planning fields that the engine determines. topics: Kafka topics per
    source, found in what topics_by names; partitions: of them, per source where known. feeds: per operator what its
    scaler reads; feed_remarks: on other things it reads. series: per operator the labels of its Prometheus series,
    in PromQL; empty if the engine's own reporter names them. containers: None if unknown. streams_question: what a
    person must answer if the engine does not report streams, else empty.
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
    partitions: Mapping[str, int] = field(default_factory=dict)
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    feed_remarks: Sequence[str] = ()
    series: Mapping[str, str] = field(default_factory=dict)
    containers: DescribedContainers | None = None
    streams_question: str = ""

    @property
    def fed(self) -> tuple[str, ...]:
        """The sources whose arrivals must be counted. While streams are open: those with known topics or feeds."""
        known = [name for name in self.sources if name in self.topics or name in self.feeds]
        return tuple(known) if self.streams_question and known else self.sources

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
    """The grouping for an engine's word, and the question that it leaves open, if any.

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
    """The same names, made unique by a number after each repetition.

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
    """The job's name as a topology name, with a dash for each run of characters that are not allowed.

    >>> topology_name("Word count (v2)")
    'Word-count-v2'
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", job).strip("-_.")[:80] or "topology"
