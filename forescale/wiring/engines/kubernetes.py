"""Kubernetes: workloads, and jobs of the Flink operator, in one namespace."""

from pathlib import Path
from typing import TYPE_CHECKING

from forescale.files.clusters.flink_operator import FlinkOperatorEntry
from forescale.files.clusters.kubernetes import KubernetesEntry
from forescale.files.clusters.kubernetes_access import KubernetesAccess
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import LOOK_S, ClusterKind, Engine
from planner.clock import Clock, RealClock

if TYPE_CHECKING:
    from engines.kubernetes.server import KubernetesServer
    from planner.clusters.flink_operator import FlinkOperatorCluster
    from planner.clusters.kubernetes import KubernetesCluster


def _server(entry: KubernetesAccess, settings: Settings) -> "KubernetesServer":
    from engines.kubernetes.identity import Identity
    from engines.kubernetes.server import KubernetesServer
    from planner.errors import ClusterError

    kubeconfig = None if entry.kubeconfig is None else Path(settings.below_home(entry.kubeconfig)).expanduser()
    identity = Identity(kubeconfig, entry.context)
    return KubernetesServer(entry.namespace, ClusterError, identity, timeout_s=entry.timeout_s)


def _workloads(config: TopologyConfig, entry: KubernetesEntry, settings: Settings, clock: Clock) -> "KubernetesCluster":
    from planner.clusters.kubernetes import AutoscaledKubernetesCluster, KubernetesCluster

    kind = AutoscaledKubernetesCluster if entry.autoscaled else KubernetesCluster
    return kind(_server(entry, settings), config.as_topology(), entry.operators, frozenset(entry.take_over))


def _flink(
    config: TopologyConfig, entry: FlinkOperatorEntry, settings: Settings, clock: Clock
) -> "FlinkOperatorCluster":
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
    )


def _may_scale_workloads(config: TopologyConfig, entry: KubernetesEntry, settings: Settings) -> str:
    return _workloads(config, entry, settings, RealClock()).check_may_rescale()


def _may_change_flink(config: TopologyConfig, entry: FlinkOperatorEntry, settings: Settings) -> str:
    return _flink(config, entry, settings, RealClock()).check_may_rescale()


KUBERNETES = Engine(
    "kubernetes",
    cluster=ClusterKind(
        KubernetesEntry,
        _workloads,
        sample_s=lambda _: LOOK_S,
        may_rescale=_may_scale_workloads,
        no_slots=lambda _: "raise the number of pods of the namespace's resource quota",
    ),
)
FLINK_OPERATOR = Engine(
    "flink-operator",
    cluster=ClusterKind(
        FlinkOperatorEntry,
        _flink,
        sample_s=lambda entry: entry.sample_s,
        look_s=lambda entry: entry.sample_s,
        may_rescale=_may_change_flink,
    ),
)
