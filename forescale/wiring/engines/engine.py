"""The roles of an engine for a topology: source of arrivals, cluster, description of its jobs.

An engine's value knows its sections of the topology file, and imports the engine's client only when used: Airflow
parses DAGs without Kafka's or Spark's client.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import ArrivalsSection
from forescale.files.clusters.cluster_entry import ClusterEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from planner.clock import Clock

if TYPE_CHECKING:
    from forecasting.arrivals.sources.kafka_group import KafkaGroup
    from forecasting.arrivals.sources.steady import SteadySource
    from planner.clusters.cluster import Cluster
    from planner.clusters.job_description import JobDescription

ArrivalsSectionT = TypeVar("ArrivalsSectionT")
"""A kind of the section `arrivals`."""
ClusterSectionT = TypeVar("ClusterSectionT", bound=ClusterEntry)
"""A kind of the section `cluster`."""

SpanS = Callable[[ClusterSectionT], float]

LOOK_S = 60.0
"""Default span of one look of the guard."""


@dataclass(frozen=True)
class ArrivalsKind(Generic[ArrivalsSectionT]):
    """A kind of arrival source. All functions raise ValueError, of which HistoryError is one, for an unusable section.

    open: the source, within the context. steady: the same source, if it has to be recorded at intervals. group:
    consumer group whose unread messages are the backlog; None if the section names none.
    """

    section: type[ArrivalsSectionT]
    open: Callable[[TopologyConfig, ArrivalsSectionT, Settings, datetime], AbstractContextManager[ArrivalSource]]
    steady: "Callable[[TopologyConfig, ArrivalsSectionT, Settings], SteadySource] | None" = None
    group: "Callable[[ArrivalsSectionT], KafkaGroup | None] | None" = None


@dataclass(frozen=True)
class ClusterKind(Generic[ClusterSectionT]):
    """A kind of cluster.

    connect: returns the cluster, without a request. sample_s: default span of one set of samples. watched: whether
    samples are counted during the call, so that several spans follow one another; else they are past counts. look_s:
    span of one look of the guard. reads_arrivals: whether the job reads what the section `arrivals` names, so that its
    consumer group gives the backlog. truth: folder of the arrivals that reached it, if these are not in the history.
    may_rescale: checks, without changing anything, whether the plan may be changed; returns how that was found, or
    raises ClusterError. None if it cannot be checked. no_slots: the remedy if no slot is free and every larger plan
    would therefore be refused; None, or returning None, if larger plans may still be accepted.
    """

    section: type[ClusterSectionT]
    connect: "Callable[[TopologyConfig, ClusterSectionT, Settings, Clock], Cluster]"
    sample_s: SpanS[ClusterSectionT]
    watched: bool = True
    look_s: SpanS[ClusterSectionT] = lambda _: LOOK_S
    reads_arrivals: bool = True
    truth: Callable[[ClusterSectionT, Settings], Path] | None = None
    may_rescale: Callable[[TopologyConfig, ClusterSectionT, Settings], str] | None = None
    no_slots: Callable[[ClusterSectionT], str | None] | None = None


@dataclass(frozen=True)
class JobRequest:
    """A job at a given place: the address of its engine, or a namespace of Kubernetes. name: None: the only running
    one. login: fields of the section `cluster`. workloads, selector: of Kubernetes, which workloads are operators. url:
    of the REST interface of a FlinkDeployment; None: its service's.
    """

    place: str
    name: str | None = None
    login: Mapping[str, Any] = field(default_factory=dict)
    workloads: Sequence[str] = ()
    selector: str | None = None
    url: str | None = None

    def options(self) -> dict[str, object]:
        """The given values, by the options of `forescale init`."""
        options: dict[str, object] = {"--job": self.name, "--workload": self.workloads or None}
        options |= {"--selector": self.selector, "--flink": self.url}
        return {option: value for option, value in options.items() if value is not None}


@dataclass(frozen=True)
class DescribedJob:
    """A job with the sections of the topology file that its engine can fill. arrivals: None if the engine counts
    neither offered load nor throughput; cluster: None if forescale cannot rescale it there. cluster_remarks: what
    people should know about that section; cluster_question: what they must answer in it, empty if nothing is open.
    """

    job: "JobDescription"
    arrivals: ArrivalsSection | None = None
    arrivals_evidence: str = ""
    cluster: ClusterEntry | None = None
    cluster_remarks: Sequence[str] = ()
    cluster_question: str = ""


@dataclass(frozen=True)
class JobsKind:
    """A kind of engine whose jobs `forescale init` can describe.

    option: of `forescale init`, holds the address. describe: raises ClusterError, and ValueError for an invalid login
    or a missing secret. login: the fields that `--login` takes. uses, needs: its other options, and the required ones.
    at_an_address: whether the option holds the address of a server.
    """

    option: str
    describe: Callable[[JobRequest], DescribedJob]
    login: frozenset[str]
    uses: frozenset[str] = frozenset({"--job"})
    needs: frozenset[str] = frozenset()
    at_an_address: bool = True


@dataclass(frozen=True)
class EngineAdapter:
    """kind: its name in topology files. Roles that it does not have are None."""

    kind: str
    arrivals: ArrivalsKind[Any] | None = None
    cluster: ClusterKind[Any] | None = None
    jobs: JobsKind | None = None
