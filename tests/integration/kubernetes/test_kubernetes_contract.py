"""Deployments and StatefulSets behind a real API server are a cluster."""

import time
from collections.abc import Callable, Iterator

import pytest
from contract.cluster_contract import ClusterContract
from kubernetes_controllers import Controllers
from kubernetes_objects import deployment, namespace, quota, stateful_set
from kubernetes_server import LocalKubernetes
from server_process import free_ports

from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Cluster
from planner.clusters.kubernetes import KubernetesCluster

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

NAMESPACE = "contract"
WORKLOADS = {"orders": "deployment/orders", "prices": "statefulset/prices", "bills": "deployment/bills"}
PODS = 12


@pytest.fixture(scope="module")
def controllers(kubernetes: LocalKubernetes) -> Iterator[Controllers]:
    kubernetes.create(namespace(NAMESPACE))
    kubernetes.create(
        deployment("orders", 2), stateful_set("prices"), deployment("bills", 1), quota("few", PODS), namespace=NAMESPACE
    )
    with Controllers(kubernetes, NAMESPACE).running() as running:
        yield running
        assert running.errors == []


class TestKubernetesContract(ClusterContract):
    patience_s = 120.0
    poll_s = 0.1
    measured_s = 0.2
    counts_tuples = False
    topology = Topology(
        "shop",
        (Operator("orders", 20), Operator("prices", 20), Operator("bills", 20)),
        (Stream("orders", "prices"), Stream("prices", "bills")),
    )

    @pytest.fixture
    def cluster(self, kubernetes: LocalKubernetes, controllers: Controllers) -> Cluster:
        server = kubernetes.server(NAMESPACE)
        return KubernetesCluster(server, self.topology, WORKLOADS, take_over=frozenset({"OpenAPI-Generator"}))

    @pytest.fixture
    def unreachable(self, kubernetes: LocalKubernetes) -> Callable[[], object]:
        nobody = LocalKubernetes(f"https://127.0.0.1:{free_ports(1)[0]}", kubernetes.folder)
        return KubernetesCluster(nobody.server(NAMESPACE, "nobody"), self.topology, WORKLOADS).state

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)
