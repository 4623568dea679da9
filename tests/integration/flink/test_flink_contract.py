"""A real Flink is a cluster."""

import socket
import time
from collections.abc import Callable

import pytest
from contract.cluster_contract import ClusterContract

from forescale.local.demo.word_count import RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from modeling.inputs.topology import Operator, Topology
from planner.clusters.cluster import Cluster
from planner.clusters.flink import FlinkCluster

UNDER_TEST = WordCount(name="word-count-under-test")

pytestmark = [pytest.mark.flink, pytest.mark.slow]


class TestFlinkContract(ClusterContract):
    patience_s = 180.0
    poll_s = 0.5
    measured_s = 4.0
    topology = UNDER_TEST.topology

    @pytest.fixture
    def cluster(self, flink: LocalFlink, word_count: RunningWordCount) -> Cluster:
        return FlinkCluster(flink.url, UNDER_TEST.name, UNDER_TEST.topology, warm_s=3.0, timeout_s=60)

    @pytest.fixture
    def unreachable(self) -> Callable[[], object]:
        with socket.socket() as probe:  # a port that nobody listens on
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        nobody = Topology("nobody", (Operator("source"),), ())
        return FlinkCluster(f"http://127.0.0.1:{port}", "nobody", nobody, timeout_s=2.0).state

    def let_time_pass(self, seconds: float) -> None:
        time.sleep(seconds)
