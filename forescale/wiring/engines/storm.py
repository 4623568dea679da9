"""Storm, whose UI keeps no history: recorded arrivals, and the cluster of a topology."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import StormEntry
from forescale.files.clusters.storm import StormClusterEntry
from forescale.files.http_access import HttpAccess
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import (
    ArrivalsKind,
    ClusterKind,
    DescribedJob,
    EngineAdapter,
    JobRequest,
    JobsKind,
)
from planner.clock import Clock

if TYPE_CHECKING:
    from forecasting.arrivals.sources.steady import SteadySource
    from planner.clusters.cluster import Cluster


def _steady(config: TopologyConfig, arrivals: StormEntry, settings: Settings) -> "SteadySource":
    from forecasting.arrivals.sources.storm_ui import StormUi

    log = settings.home / "readings" / config.topology
    return StormUi(**arrivals.of_the_source(), topology=config.topology, log=log)


def _open(
    config: TopologyConfig, arrivals: StormEntry, settings: Settings, now: datetime
) -> AbstractContextManager[ArrivalSource]:
    return nullcontext(_steady(config, arrivals, settings))


def _cluster(config: TopologyConfig, entry: StormClusterEntry, settings: Settings, clock: Clock) -> "Cluster":
    from planner.clusters.storm import StormCluster

    return StormCluster(
        entry.url,
        entry.topology or config.topology,
        config.as_topology(),
        entry.operators,
        wait_s=entry.wait_s,
        clock=clock,
        **entry.connection(),
    )


def _described(request: JobRequest) -> DescribedJob:
    from planner.clusters.storm_description import storm_description

    login = request.login
    job = storm_description(request.place, request.name, **HttpAccess.model_validate(login).connection())
    arrivals = StormEntry(kind="storm", url=request.place, spouts={name: name for name in job.sources}, **login)
    evidence = (
        "Emit counts of the spouts, read steadily by `forescale history record`; counts of Kafka or events are better."
    )
    cluster = StormClusterEntry(kind="storm", url=request.place, topology=job.name, operators=job.components, **login)
    return DescribedJob(job, arrivals, evidence, cluster)


STORM = EngineAdapter(
    "storm",
    arrivals=ArrivalsKind(StormEntry, _open, steady=_steady),
    cluster=ClusterKind(StormClusterEntry, _cluster, sample_s=lambda entry: entry.sample_s, watched=False),
    jobs=JobsKind("--storm-ui", _described, login=frozenset(HttpAccess.model_fields)),
)
