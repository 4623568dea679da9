"""Kubernetes: workloads, and jobs of the Flink operator, in one namespace."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forescale.files.clusters.flink_operator import FlinkOperatorEntry
from forescale.files.clusters.kubernetes import KubernetesAccess, KubernetesEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import LOOK_S, ClusterKind, DescribedJob, EngineAdapter, JobRequest, JobsKind
from planner.clock import Clock, RealClock

if TYPE_CHECKING:
    from engines.kubernetes.server import KubernetesServer
    from planner.clusters.flink_deployment import FlinkDeployment
    from planner.clusters.flink_operator import FlinkOperatorCluster
    from planner.clusters.kubernetes import KubernetesCluster
    from planner.clusters.kubernetes_choice import FoundObject


def _server(entry: KubernetesAccess, settings: Settings | None = None) -> "KubernetesServer":
    """settings: their home is the base of a relative kubeconfig."""
    from engines.kubernetes.identity import Identity
    from engines.kubernetes.server import KubernetesServer
    from planner.errors import ClusterError

    path = entry.kubeconfig if settings is None or entry.kubeconfig is None else settings.below_home(entry.kubeconfig)
    identity = Identity(None if path is None else Path(path).expanduser(), entry.context)
    return KubernetesServer(entry.namespace, ClusterError, identity, timeout_s=entry.timeout_s)


def _workloads(config: TopologyConfig, entry: KubernetesEntry, settings: Settings, clock: Clock) -> "KubernetesCluster":
    from planner.clusters.kubernetes import AutoscaledKubernetesCluster, KubernetesCluster

    scaled = entry.autoscaled or config.planning.served  # in mode serve a scaler may go to zero, whatever is named
    kind = AutoscaledKubernetesCluster if scaled else KubernetesCluster
    return kind(_server(entry, settings), config.as_topology(), entry.operators, frozenset(entry.take_over))


def _flink(
    config: TopologyConfig, entry: FlinkOperatorEntry, settings: Settings, clock: Clock
) -> "FlinkOperatorCluster":
    from forescale.wiring.packing import container_cores
    from planner.clusters.flink_operator import AutoscaledFlinkOperatorCluster, FlinkOperatorCluster

    kind = AutoscaledFlinkOperatorCluster if entry.autoscaler else FlinkOperatorCluster
    return kind(
        _server(entry, settings),
        entry.deployment,
        entry.url,
        config.as_topology(),
        entry.operators,
        frozenset(entry.take_over),
        timeout_s=entry.timeout_s,
        container_cores=container_cores(config, settings),
    )


def _may_scale_workloads(config: TopologyConfig, entry: KubernetesEntry, settings: Settings) -> str:
    return _workloads(config, entry, settings, RealClock()).check_may_rescale()


def _may_change_flink(config: TopologyConfig, entry: FlinkOperatorEntry, settings: Settings) -> str:
    return _flink(config, entry, settings, RealClock()).check_may_rescale()


def _described(request: JobRequest) -> DescribedJob:
    from engines.kubernetes.resources import FLINK_DEPLOYMENT
    from planner.clusters.flink_deployment import FlinkDeployment
    from planner.clusters.kubernetes_choice import chosen_objects
    from planner.errors import ClusterError

    access: dict[str, Any] = {"namespace": request.place, **request.login}
    server = _server(KubernetesAccess(kind="kubernetes", **access))
    chosen = chosen_objects(server, request.name, request.workloads, request.selector)
    if chosen[0].name.resource == FLINK_DEPLOYMENT:
        return _described_flink(request, server, FlinkDeployment(chosen[0].answer), access)
    if request.url is not None:
        raise ClusterError(f"--flink is of a FlinkDeployment, and {chosen[0].name} is none; leave it out")
    return _described_workloads(server, chosen, access)


def _described_flink(
    request: JobRequest, server: "KubernetesServer", deployment: "FlinkDeployment", access: dict[str, Any]
) -> DescribedJob:
    from planner.clusters.flink_operator_description import (
        deployment_managers,
        deployment_remarks,
        flink_operator_description,
    )

    fields = {"kind": "flink-operator", **access, "deployment": deployment.answer.body["metadata"]["name"]}
    if request.url is not None:
        fields["url"] = request.url
    entry = FlinkOperatorEntry.model_validate(fields)
    job = flink_operator_description(deployment, server.place, entry.url, entry.timeout_s)
    fields |= {"operators": job.components} | ({"autoscaler": True} if deployment.autoscaled else {})
    managers = deployment_managers(deployment)
    entry = FlinkOperatorEntry.model_validate(fields | ({"take_over": managers} if managers else {}))
    return DescribedJob(
        job,
        cluster=entry,
        cluster_remarks=[*deployment_remarks(deployment), _rights("flink")],
        cluster_question=_take_over_question(managers, "the parallelism"),
    )


def _described_workloads(
    server: "KubernetesServer", chosen: "Sequence[FoundObject]", access: dict[str, Any]
) -> DescribedJob:
    from engines.kubernetes.resources import AUTOSCALER, SCALED_OBJECT
    from planner.clusters.kubernetes_description import workloads_description

    described = workloads_description(server, chosen)
    operators = {name: str(each) for name, each in described.objects.items()}
    fields = {"kind": "kubernetes", **access, "operators": operators}
    if described.managers:
        fields["take_over"] = list(described.managers)
    set_at = {each.resource for each in described.objects.values()}
    scaled = [name for kind, name in ((AUTOSCALER, "hpa"), (SCALED_OBJECT, "keda")) if kind in set_at]
    remarks = [
        "Kubernetes counts no tuples: `forescale model calibrate --samples` takes what was measured elsewhere, and the",
        "section services names durations of requests that Prometheus has; docs/engines/services.md.",
    ]
    return DescribedJob(
        described.job,
        cluster=KubernetesEntry.model_validate(fields),
        cluster_remarks=[*remarks, _rights(*(scaled or ["replicas"]))],
        cluster_question=_take_over_question(described.managers, "the lower bounds" if scaled else "the replicas"),
    )


def _rights(*manifests: str) -> str:
    files = " and ".join(f"examples/kubernetes/rights-{name}.yaml" for name in manifests)
    return f"Permissions that it needs: {files}."


def _take_over_question(managers: Sequence[str], what: str) -> str:
    """Server-side apply refuses fields that another manager owns, unless they may be taken over."""
    if not managers:
        return ""
    names = " and ".join(managers)
    return (
        f"{names} set {what} until now: may forescale take them over? If so, remove them from what is applied there; "
        "else take the names out of take_over, and no plan is deployed"
    )


KUBERNETES = EngineAdapter(
    "kubernetes",
    cluster=ClusterKind(
        KubernetesEntry,
        _workloads,
        sample_s=lambda _: LOOK_S,
        may_rescale=_may_scale_workloads,
        no_slots=lambda _: "raise the number of pods of the namespace's resource quota",
    ),
    jobs=JobsKind(
        "--kubernetes",
        _described,
        uses=frozenset({"--job", "--workload", "--selector", "--flink"}),
        login=frozenset({"kubeconfig", "context", "timeout_s"}),
        at_an_address=False,
    ),
)
FLINK_OPERATOR = EngineAdapter(
    "flink-operator",
    cluster=ClusterKind(
        FlinkOperatorEntry,
        _flink,
        sample_s=lambda entry: entry.sample_s,
        look_s=lambda entry: entry.sample_s,
        may_rescale=_may_change_flink,
    ),
)
