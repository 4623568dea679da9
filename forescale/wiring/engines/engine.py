"""What an engine can be to a topology: where its arrivals are read, the cluster that runs it, where its samples come
from.

The value of an engine knows its sections of the topology file, and imports what speaks to the engine when it is asked
to: Airflow parses DAGs without Kafka's or Spark's client.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from engines.http import Connection
from forecasting.arrivals.arrival_source import ArrivalSource
from forecasting.arrivals.sources.kafka_group import KafkaGroup
from forecasting.arrivals.sources.steady import SteadySource
from forescale.files.arrivals_section import ArrivalsSection
from forescale.files.clusters.cluster_entry import ClusterEntry
from forescale.files.http_access import HttpAccess
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Topology
from planner.clock import Clock
from planner.clusters.cluster import Cluster
from planner.clusters.job_description import JobDescription
from planner.errors import ClusterError

ArrivalsSectionT = TypeVar("ArrivalsSectionT")
"""A kind of the section `arrivals`."""
ClusterSectionT = TypeVar("ClusterSectionT", bound=ClusterEntry)
"""A kind of the section `cluster`."""

SpanS = Callable[[ClusterSectionT], float]

LOOK_S = 60.0
"""Span of one look of the guard, where the cluster has no span of its own."""


@dataclass(frozen=True)
class ArrivalsKind(Generic[ArrivalsSectionT]):
    """A kind of arrival source. All raise ValueError, HistoryError among them, for what no source can be made of.

    open: the source, for as long as the context lasts. steady: the same source, where somebody has to read it steadily.
    group: whose unread messages are what waits at the sources; None where the section names no group.
    """

    section: type[ArrivalsSectionT]
    open: Callable[[TopologyConfig, ArrivalsSectionT, Settings, datetime], AbstractContextManager[ArrivalSource]]
    steady: Callable[[TopologyConfig, ArrivalsSectionT, Settings], SteadySource] | None = None
    group: Callable[[ArrivalsSectionT], KafkaGroup | None] | None = None


@dataclass(frozen=True)
class ClusterKind(Generic[ClusterSectionT]):
    """A kind of cluster.

    connect: the cluster; nothing is asked of it yet. sample_s: the span of one set of samples, unless somebody gives
    another. watched: whether it counts while one waits, so that several spans are measured one after the other; else it
    has counted already. look_s: the span of one look of the guard. reads_arrivals: whether what runs there takes in
    what the section `arrivals` names, so that its consumer group tells what waits. truth: folder of the arrivals that
    reached it, where these are not in the history. may_rescale: asks whether the plan may be changed, and changes
    nothing; how that was found, or ClusterError. None where that cannot be asked. no_slots: what helps where no slot is
    free and every larger plan would be refused for it; None, or giving None, where larger plans may still be taken.
    """

    section: type[ClusterSectionT]
    connect: Callable[[TopologyConfig, ClusterSectionT, Settings, Clock], Cluster]
    sample_s: SpanS[ClusterSectionT]
    watched: bool = True
    look_s: SpanS[ClusterSectionT] = lambda _: LOOK_S
    reads_arrivals: bool = True
    truth: Callable[[ClusterSectionT, Settings], Path] | None = None
    may_rescale: Callable[[TopologyConfig, ClusterSectionT, Settings], str] | None = None
    no_slots: Callable[[ClusterSectionT], str | None] | None = None


@dataclass(frozen=True)
class SampleRequest:
    """Samples of a topology from an engine at an address that somebody gave.

    name: the topology's in the cluster. components: operator → vertex or component, where they differ; empty: as the
    topology file has them. span_s: seconds of a span, or back in time; what suits the engine where None. spans: how
    many of them an engine is watched for.
    """

    url: str
    topology: Topology
    name: str
    components: Mapping[str, str]
    span_s: float | None = None
    spans: int = 1
    cluster: str | None = None
    environ: str | None = None
    role: str | None = None


@dataclass(frozen=True)
class SamplesKind:
    """A kind of sample source that an option of `forescale calibrate` names.

    option: that holds the address. shown: what people call it. needs: options without which it cannot be read, and how
    the message goes on about them; uses: those that change something besides. whole_span: why a span is of whole
    seconds, empty where it need not be. read: raises ClusterError.
    """

    option: str
    shown: str
    read: Callable[[SampleRequest, TopologyConfig], Sequence[OperatorSample]]
    uses: frozenset[str] = frozenset({"--job", "--component", "--span"})
    needs: frozenset[str] = frozenset()
    needs_why: str = ""
    whole_span: str = ""


HTTP_LOGIN = frozenset({"--token-env", "--headers-env", "--ca-file"})
"""Options that say as whom an engine is asked over HTTP: the fields of the section `cluster` of the same names."""


@dataclass(frozen=True)
class JobRequest:
    """A job in a place that somebody gave: the address of its engine, or a namespace of Kubernetes. name: None means
    the only one that runs. cluster, environ, role: of Heron. login: as whom the engine is asked, by the fields of the
    section `cluster`. workloads, selector: of Kubernetes, which of them are operators. url: of the REST interface of a
    FlinkDeployment, its service's where None.
    """

    place: str
    name: str | None = None
    cluster: str | None = None
    environ: str | None = None
    role: str | None = None
    login: Mapping[str, Any] = field(default_factory=dict)
    workloads: Sequence[str] = ()
    selector: str | None = None
    url: str | None = None

    def options(self) -> dict[str, object]:
        """What is given, by the options of `forescale init`."""
        options: dict[str, object] = {"--job": self.name, "--workload": self.workloads or None}
        options |= {f"--{name}": getattr(self, name) for name in ("cluster", "environ", "role", "selector", "url")}
        options |= {f"--{name.replace('_', '-')}": value for name, value in self.login.items()}
        return {option: value for option, value in options.items() if value is not None}


@dataclass(frozen=True)
class DescribedJob:
    """A job with the sections of the topology file that its engine can fill. arrivals: None where the engine does not
    count what was offered or taken in; cluster: None where forescale cannot rescale it there. cluster_remarks: what
    people should know of that section; cluster_question: what they must answer of it, empty where nothing is open.
    """

    job: JobDescription
    arrivals: ArrivalsSection | None = None
    arrivals_evidence: str = ""
    cluster: ClusterEntry | None = None
    cluster_remarks: Sequence[str] = ()
    cluster_question: str = ""


@dataclass(frozen=True)
class JobsKind:
    """A kind of engine whose jobs `forescale init` can describe.

    option: of `forescale init`, that holds the address. describe: raises ClusterError, and ValueError for a login that
    cannot be or whose secret is lacking. uses, needs: its other options, and those without which nothing can be found.
    at_an_address: whether the option holds the address of a server. asks: whether a person can be asked for what it
    leaves open (`--interactive`).
    """

    option: str
    describe: Callable[[JobRequest], DescribedJob]
    uses: frozenset[str] = frozenset({"--job"})
    needs: frozenset[str] = frozenset()
    at_an_address: bool = True
    asks: bool = False


def own_connection(url: str, config: TopologyConfig) -> Connection:
    """The login and certificates of the section of the topology file that names the same address; none at another one:
    a secret goes nowhere but where the file sends it. Raises ClusterError where the environment lacks a secret.
    """
    sections = {"arrivals": config.arrivals_section, "cluster": config.cluster_section}
    for name, section in sections.items():
        if isinstance(section, HttpAccess) and str(getattr(section, "url", "")).rstrip("/") == url.rstrip("/"):
            try:
                return section.connection()
            except ValueError as error:
                raise ClusterError(f"section {name} of {config.topology}: {error}") from None
    return Connection()


def watched_samples(cluster: Cluster, span_s: float, spans: int) -> Sequence[OperatorSample]:
    """Several spans one after the other: their spread tells how far the means are off."""
    return [sample for _ in range(spans) for sample in cluster.operator_samples(span_s)]


@dataclass(frozen=True)
class Engine:
    """kind: the word for it in topology files. What it cannot be is None."""

    kind: str
    arrivals: ArrivalsKind[Any] | None = None
    cluster: ClusterKind[Any] | None = None
    samples: SamplesKind | None = None
    jobs: JobsKind | None = None
