"""A FlinkDeployment behind a real API server, whose job runs on a real Flink, is a cluster."""

import time
from collections.abc import Callable, Iterator

import pytest
from contract.cluster_contract import ClusterContract
from flink_operator import FlinkOperator
from kubernetes_server import LocalKubernetes
from server_process import free_ports

from forescale.local.demo.word_count import RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from planner.clusters.cluster import Cluster
from planner.clusters.flink_operator import FlinkOperatorCluster

OPERATED = WordCount(name="word-count-operated")
NAMESPACE = "streams"
SLOTS, PODS = 16, 4

pytestmark = [pytest.mark.flink, pytest.mark.kubernetes, pytest.mark.slow]


@pytest.fixture(scope="module")
def operated(flink: LocalFlink, kubernetes: LocalKubernetes) -> Iterator[RunningWordCount]:
    """A job of our own, cancelled when these tests are done."""
    job = OPERATED.start(flink, 20)
    try:
        operator = FlinkOperator(kubernetes, NAMESPACE, OPERATED.name, flink.url, SLOTS, PODS)
        with operator.running():
            yield job
        assert operator.errors == []
    finally:
        job.cancel()


class TestFlinkOperatorContract(ClusterContract):
    patience_s = 180.0
    poll_s = 0.5
    measured_s = 4.0
    topology = OPERATED.topology

    @pytest.fixture
    def cluster(self, kubernetes: LocalKubernetes, flink: LocalFlink, operated: RunningWordCount) -> Cluster:
        server = kubernetes.server(NAMESPACE)
        return FlinkOperatorCluster(server, OPERATED.name, flink.url, self.topology, warm_s=3.0, timeout_s=60)

    @pytest.fixture
    def unreachable(self, kubernetes: LocalKubernetes) -> Callable[[], object]:
        nobody = LocalKubernetes(f"https://127.0.0.1:{free_ports(1)[0]}", kubernetes.folder)
        server = nobody.server(NAMESPACE, "nobody")
        return FlinkOperatorCluster(server, OPERATED.name, "http://127.0.0.1:1", self.topology).state

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)
