"""`forescale init --kubernetes` of a FlinkDeployment on a real API server, whose job runs on a real Flink."""

from pathlib import Path

import pytest
from flink_operator import FlinkOperator
from kubernetes_rights import give, manifest, service_token
from kubernetes_server import LocalKubernetes

from forescale.cli.main import main
from forescale.files.topology import read_topology_file
from forescale.local.demo.word_count import WordCount
from forescale.local.flink.local_cluster import LocalFlink
from forescale.settings import Settings
from forescale.wiring.parts import cluster_of
from planner.clock import RealClock

JOB = WordCount(name="word-count-described")
NAMESPACE = "described-job"

pytestmark = [pytest.mark.flink, pytest.mark.kubernetes, pytest.mark.slow]


def test_init__writes_a_file_by_which_the_flink_deployment_is_found_again(
    flink: LocalFlink, kubernetes: LocalKubernetes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rights of its manifest alone; what it wrote then runs as the job does."""
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    job = JOB.start(flink, 100)
    try:
        operator = FlinkOperator(kubernetes, NAMESPACE, JOB.name, flink.url, slots=16, pods=4)
        kubernetes.create(*manifest("init"), namespace=NAMESPACE)
        token = service_token(kubernetes, NAMESPACE, "init")
        give(kubernetes, NAMESPACE, "init", token)
        reader = kubernetes.kubeconfig("reader", token)
        out = tmp_path / "described.yaml"
        with operator.running():
            where = ["--kubernetes", NAMESPACE, "--flink", flink.url, str(out)]
            where += ["--login", f"kubeconfig={reader}"]
            with pytest.raises(SystemExit) as ended:
                main(["init", *where, "--no-calibrate"])
            assert ended.value.code in (0, None)
            config = read_topology_file(out)
            assert set(config.operators) == set(JOB.topology.order)
            assert {each.as_stream() for each in config.streams} == set(JOB.topology.streams)
            assert config.planning.max_parallelism == {}  # task managers come as they are needed
            reader.write_text(kubernetes.kubeconfig("admin").read_text())  # who may read it by its name
            plan = cluster_of(config, Settings(), RealClock()).state().plan
            assert plan.parallelism == dict.fromkeys(JOB.topology.order, 1)
        assert operator.errors == []
    finally:
        job.cancel()
