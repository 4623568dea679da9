"""Flink: the cluster of a job, and its description."""

from typing import TYPE_CHECKING

from forescale.files.clusters.flink import FlinkEntry
from forescale.files.http_access import MutualAccess
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import (
    ClusterKind,
    DescribedJob,
    EngineAdapter,
    JobRequest,
    JobsKind,
)
from planner.clock import Clock

if TYPE_CHECKING:
    from planner.clusters.cluster import Cluster


def _cluster(config: TopologyConfig, entry: FlinkEntry, settings: Settings, clock: Clock) -> "Cluster":
    from forescale.wiring.packing import container_cores
    from planner.clusters.flink import FlinkCluster
    from planner.clusters.slots_command import SlotsCommand

    command = None
    if entry.slots_command is not None:
        command = SlotsCommand(entry.slots_command, entry.slots_command_timeout_s, entry.slots_wait_s)
    of = entry.url, entry.job, config.as_topology(), entry.operators
    cores = container_cores(config, settings)
    beside_scaler = config.planning.floor
    if (restart := entry.restart) is not None:
        from planner.clusters.flink_restart import FlinkRestartCluster, Program

        program = Program(restart.jar, restart.program_args, restart.savepoints, restart.entry_class, restart.timeout_s)
        return FlinkRestartCluster(
            *of,
            program=program,
            slots_command=command,
            beside_scaler=beside_scaler,
            container_cores=cores,
            **entry.connection(),
        )
    return FlinkCluster(
        *of, slots_command=command, beside_scaler=beside_scaler, container_cores=cores, **entry.connection()
    )


def _described(request: JobRequest) -> DescribedJob:
    from planner.clusters.flink_description import flink_description

    # Before any request: refuse a login that the file cannot hold or that would be sent unencrypted.
    entry = FlinkEntry(kind="flink", url=request.place, job=request.name or "", **request.login)
    job = flink_description(request.place, request.name, **entry.connection())
    return DescribedJob(job, cluster=entry.model_copy(update={"job": job.name, "operators": job.components}))


def _may_rescale(config: TopologyConfig, entry: FlinkEntry, settings: Settings) -> str:
    from engines.flink.rest import FlinkRest
    from planner.errors import ClusterError

    rest = FlinkRest(entry.url, ClusterError, **entry.connection())
    jid = rest.find_job(entry.job).jid
    if entry.restart is None:
        return rest.check_may_ask(jid)
    if (jar := rest.jar_id(entry.restart.jar)) is None:
        raise ClusterError(f"{rest.place} has no jar {entry.restart.jar!r}; upload it, or correct cluster.restart.jar")
    return f"it has jar {jar} to restart the job from; whether it may be stopped shows when it is"


FLINK = EngineAdapter(
    "flink",
    cluster=ClusterKind(
        FlinkEntry,
        _cluster,
        sample_s=lambda entry: entry.sample_s,
        look_s=lambda entry: entry.sample_s,
        may_rescale=_may_rescale,
        # slots_command requests slots when a plan lacks them.
        no_slots=lambda entry: None if entry.slots_command else "add task managers, or give cluster.slots_command",
    ),
    jobs=JobsKind(
        "--flink",
        _described,
        login=frozenset(MutualAccess.model_fields),
    ),
)
