"""Heron, whose tracker keeps three hours of counters: arrivals, and the cluster of a topology."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import HeronEntry
from forescale.files.clusters.heron import HeronClusterEntry
from forescale.files.http_access import HttpAccess
from forescale.files.shown import shown
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
from planner.clock import Clock, RealClock
from planner.errors import ClusterError

if TYPE_CHECKING:
    from planner.clusters.heron import HeronCluster
    from planner.clusters.heron_packing import PredictedPacking


def _open(
    config: TopologyConfig, arrivals: HeronEntry, settings: Settings, now: datetime
) -> AbstractContextManager[ArrivalSource]:
    from forecasting.arrivals.sources.heron_tracker import HeronTracker

    return nullcontext(HeronTracker(**arrivals.of_the_source(), topology=config.topology))


def _cluster(config: TopologyConfig, entry: HeronClusterEntry, settings: Settings, clock: Clock) -> "HeronCluster":
    from planner.clusters.heron import HeronCluster, HeronNames

    return HeronCluster(
        entry.url,
        HeronNames(entry.cluster, entry.environ, entry.topology or config.topology, entry.role),
        config.as_topology(),
        entry.operators,
        client=entry.client,
        max_containers=entry.max_containers,
        predicted=_predicted(config, settings),
        clock=clock,
        **entry.connection(),
    )


def _predicted(config: TopologyConfig, settings: Settings) -> "PredictedPacking | None":
    """By the section `packing`, if it names a packer of Heron."""
    from forescale.wiring.packing import known_site, packer_of, reserved_of
    from planner.clusters.heron_packing import HERON_PACKERS, PredictedPacking

    if config.packing is None or config.packing.packer not in HERON_PACKERS:
        return None
    where, _, _ = known_site(config, settings)
    return PredictedPacking(packer_of(config.packing, where), reserved_of(config))


def _may_rescale(config: TopologyConfig, entry: HeronClusterEntry, settings: Settings) -> str:
    return _cluster(config, entry, settings, RealClock()).check_may_rescale()


def _described(request: JobRequest) -> DescribedJob:
    from planner.clusters.heron_description import heron_description, heron_role

    cluster, role, environ, name = _place(request.name or "")
    connection = HttpAccess.model_validate(request.login).connection()
    names = {"cluster": cluster, "environ": environ, "topology": name}
    role = heron_role(request.place, **names, role=role, **connection)
    job = heron_description(request.place, **names, role=role, **connection)
    arrivals = HeronEntry(
        kind="heron",
        url=request.place,
        cluster=cluster,
        environ=environ,
        role=role,
        spouts={name: name for name in job.sources},
        **request.login,
    )
    evidence = (
        "Emit counts of the spouts, which the tracker keeps for three hours; counts of Kafka or events are better."
    )
    section = HeronClusterEntry(
        kind="heron",
        url=request.place,
        cluster=cluster,
        environ=environ,
        role=role,
        topology=name,
        operators=job.components,
        **request.login,
    )
    return DescribedJob(job, arrivals, evidence, section)


def _place(job: str) -> tuple[str, str | None, str, str]:
    """The four parts of CLUSTER/ROLE/ENVIRON/NAME; the role may be missing. Raises ClusterError."""
    match job.split("/"):
        case [cluster, role, environ, name] if all((cluster, role, environ, name)):
            return cluster, role, environ, name
        case [cluster, environ, name] if all((cluster, environ, name)):
            return cluster, None, environ, name
    raise ClusterError(
        f"--job {shown(job)} names no topology of Heron; give CLUSTER/ROLE/ENVIRON/NAME, as `heron submit` was given "
        "them, or CLUSTER/ENVIRON/NAME"
    )


HERON = EngineAdapter(
    "heron",
    arrivals=ArrivalsKind(HeronEntry, _open),
    cluster=ClusterKind(
        HeronClusterEntry,
        _cluster,
        sample_s=lambda entry: entry.sample_s,
        watched=False,
        may_rescale=_may_rescale,
    ),
    jobs=JobsKind(
        "--heron-tracker",
        _described,
        login=frozenset(HttpAccess.model_fields),
        needs=frozenset({"--job"}),
    ),
)
