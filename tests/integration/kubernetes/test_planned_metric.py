"""An autoscaler of Kubernetes that follows `forescale_planned_parallelism`, through a stand-in of a metrics adapter."""

import time
from math import ceil
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from kubernetes_controllers import Controllers
from kubernetes_objects import autoscaler, deployment, namespace
from kubernetes_server import LocalKubernetes
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from served import Served, home, served

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, ObjectName
from forescale.files.topology import TopologyConfig
from forescale.settings import PROJECT, Settings
from forescale.wiring.parts import cluster_of
from planner.clock import RealClock
from planner.clusters.kubernetes import AutoscaledKubernetesCluster
from planner.clusters.kubernetes_workloads import read_workloads
from planner.errors import ClusterError

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

NAMESPACE = "planned-metric"
EXAMPLE = PROJECT / "examples" / "kubernetes" / "hpa-planned.yaml"


def test_an_autoscaler__follows_the_plan_of_now_up_and_down_and_keeps_what_runs_while_none_is_known(
    kubernetes: LocalKubernetes, tmp_path: Path
) -> None:
    kubernetes.create(namespace(NAMESPACE))
    kubernetes.create(deployment("transcribe", None), namespace=NAMESPACE)
    kubernetes.create(_from_example(), namespace=NAMESPACE)
    here = home(tmp_path)
    here.plan((60, 8), (180, 3))
    with served(tmp_path) as serving, Controllers(kubernetes, NAMESPACE, (AUTOSCALER, DEPLOYMENT)).running() as scaler:
        _settles(kubernetes, scaler, serving, 1)
        here.go_to(60)
        serving.until(8)
        _settles(kubernetes, scaler, serving, 8)
        here.go_to(180)
        serving.until(3)
        _settles(kubernetes, scaler, serving, 3)
        here.go_to(24 * 60)  # the schedule is over
        serving.until(None)
        _settles(kubernetes, scaler, serving, 3)
    assert scaler.errors == []


def _from_example() -> dict[str, Any]:
    """The manifest that the docs give, for the workload of this test."""
    body: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    body["metadata"]["name"] = "transcribe"
    body["spec"]["scaleTargetRef"]["name"] = "transcribe"
    selector = body["spec"]["metrics"][0]["external"]["metric"]["selector"]["matchLabels"]
    selector |= {"topology": "calls", "operator": "transcribe"}
    assert autoscaler("transcribe", 1, 20)["apiVersion"] == body["apiVersion"]
    return body


def _settles(kubernetes: LocalKubernetes, scaler: Controllers, serving: Served, count: int) -> None:
    """So many replicas run, and stay: what the autoscaler wants by its own spec, which the server keeps."""
    from kubernetes.client import AutoscalingV2Api

    api, since = AutoscalingV2Api(kubernetes.client()), time.monotonic()
    deadline = since + 120
    while time.monotonic() < since + 1.0:
        spec = api.read_namespaced_horizontal_pod_autoscaler("transcribe", NAMESPACE).spec
        external = spec.metrics[0].external
        value = _adapter(serving, external.metric.name, external.metric.selector.match_labels)
        if value is not None:
            scaler.demand["transcribe"] = ceil(value / float(external.target.average_value))
        states = read_workloads(kubernetes.server(NAMESPACE), {"transcribe": ObjectName(DEPLOYMENT, "transcribe")})
        if states["transcribe"].ready != count or states["transcribe"].unsettled:
            since = time.monotonic()
        assert since < deadline, states
        time.sleep(0.1)


def _adapter(serving: Served, name: str, labels: dict[str, str]) -> float | None:
    """The sample that a metrics adapter would hand over; None where there is none."""
    for family in text_string_to_metric_families(httpx.get(f"{serving.http}/metrics", timeout=60).text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


def test_a_workload_that_keda_scaled_to_zero__counts_as_one_instance(kubernetes: LocalKubernetes) -> None:
    from modeling.inputs.topology import Operator, Topology

    kubernetes.create(namespace("scaled-to-zero"))
    kubernetes.create(deployment("transcribe", 0), namespace="scaled-to-zero")
    kubernetes.create(autoscaler("transcribe", 1, 20), namespace="scaled-to-zero")
    server = kubernetes.server("scaled-to-zero")
    cluster = AutoscaledKubernetesCluster(
        server, Topology("calls", (Operator("transcribe"),), ()), {"transcribe": "hpa/transcribe"}
    )
    assert cluster.state().plan.parallelism == {"transcribe": 1}


@pytest.mark.parametrize("mode", ["act", "serve"])
def test_a_workload_at_zero__is_planned_for_where_its_scaler_asks_for_plans(
    kubernetes: LocalKubernetes, tmp_path: Path, mode: str
) -> None:
    place = f"at-zero-{mode}"
    kubernetes.create(namespace(place))
    kubernetes.create(deployment("transcribe", 0), namespace=place)
    config = TopologyConfig.model_validate(
        {
            "topology": "calls",
            "operators": {"transcribe": {"service_s": 0.1}},
            "streams": [],
            "planning": {"mode": mode},
            "cluster": {
                "kind": "kubernetes",
                "namespace": place,
                "operators": {"transcribe": "deployment/transcribe"},
                "kubeconfig": str(kubernetes.kubeconfig("admin")),
            },
        }
    )
    cluster = cluster_of(config, Settings(home=tmp_path), RealClock())
    if mode == "act":
        with pytest.raises(ClusterError, match="scale what is at 0 up first"):
            cluster.state()
    else:
        # The peak comes by the schedule, which needs a plan that runs: KEDA has idled this one.
        assert cluster.state().plan.parallelism == {"transcribe": 1}
