"""Whether a plan may be changed, as doctor asks an API server: by a dry run. The server is a stand-in."""

from collections.abc import Iterator

import pytest
from json_stand_in import JsonStandIn, json_stand_in
from kubernetes.client import ApiClient, Configuration
from unit.flink.metered_flink import CHAIN
from unit.flink.recorded_flink import JOB, RecordedFlink

from engines.kubernetes.server import KubernetesServer
from modeling.inputs.topology import Operator, Topology
from planner.clusters.flink_operator import AutoscaledFlinkOperatorCluster, FlinkOperatorCluster
from planner.clusters.kubernetes import AutoscaledKubernetesCluster, KubernetesCluster
from planner.errors import ClusterError

WORKLOAD = "/apis/apps/v1/namespaces/shop/deployments/orders"
SCALER = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/orders"
QUOTAS = "/api/v1/namespaces/shop/resourcequotas"
FLINK = "/apis/flink.apache.org/v1beta1/namespaces/shop/flinkdeployments/words"
TOPOLOGY = Topology("shop", (Operator("orders", 20),), ())


@pytest.fixture
def api() -> Iterator[JsonStandIn]:
    with json_stand_in() as stand_in:
        metadata = {"name": "orders", "resourceVersion": "7", "creationTimestamp": "2026-01-05T08:00:00Z"}
        stand_in.answers[WORKLOAD] = {"metadata": metadata, "spec": {"replicas": 2}}
        stand_in.answers[f"{WORKLOAD}/scale"] = {"metadata": metadata, "spec": {"replicas": 3}}
        target = {"kind": "Deployment", "name": "orders"}
        bounds = {"minReplicas": 1, "maxReplicas": 2}
        stand_in.answers[SCALER] = {"metadata": metadata, "spec": {"scaleTargetRef": target, **bounds}}
        stand_in.answers[QUOTAS] = {"items": []}
        yield stand_in


def cluster(api: JsonStandIn, operator: str) -> KubernetesCluster:
    server = KubernetesServer("shop", ClusterError, client=ApiClient(Configuration(host=api.url)))
    kind = AutoscaledKubernetesCluster if operator.startswith("hpa/") else KubernetesCluster
    return kind(server, TOPOLOGY, {"orders": operator})


@pytest.mark.parametrize(("operator", "changed"), [("deployment/orders", f"{WORKLOAD}/scale"), ("hpa/orders", SCALER)])
def test_check_may_rescale__asks_for_nothing_but_a_dry_run(api: JsonStandIn, operator: str, changed: str) -> None:
    assert "a dry run" in cluster(api, operator).check_may_rescale()
    # Only changes have a field manager.
    sent = [(path, query) for path, query in api.asked if "fieldManager" in query]
    assert [(path, query.get("dryRun")) for path, query in sent] == [(changed, ["All"])]


def test_check_may_rescale__says_which_right_is_lacking(api: JsonStandIn) -> None:
    message = (
        'deployments.apps "orders" is forbidden: User "u" cannot patch resource "deployments/scale" in API group '
        '"apps" in the namespace "shop"'
    )
    api.answers[f"{WORKLOAD}/scale"] = {"kind": "Status", "message": message}
    api.statuses[f"{WORKLOAD}/scale"] = 403
    with pytest.raises(ClusterError, match="grant the verb patch on deployments/scale"):
        cluster(api, "deployment/orders").check_may_rescale()


@pytest.mark.parametrize("operator", ["deployment/orders", "hpa/orders"])
def test_check_may_rescale__misses_the_right_to_see_quotas(api: JsonStandIn, operator: str) -> None:
    message = 'resourcequotas is forbidden: User "u" cannot list resource "resourcequotas" in API group "" in "shop"'
    api.answers[QUOTAS] = {"kind": "Status", "message": message}
    api.statuses[QUOTAS] = 403
    with pytest.raises(ClusterError, match="grant the verb list on resourcequotas"):
        cluster(api, operator).check_may_rescale()


def test_check_may_rescale__of_a_scaler_that_takes_no_higher_bound_says_why(api: JsonStandIn) -> None:
    api.answers[SCALER]["spec"]["minReplicas"] = 2
    with pytest.raises(ClusterError, match="raise maxReplicas"):
        cluster(api, "hpa/orders").check_may_rescale()


@pytest.mark.parametrize("kind", [FlinkOperatorCluster, AutoscaledFlinkOperatorCluster])
def test_check_may_rescale__of_a_flink_deployment_is_a_dry_run(
    api: JsonStandIn, kind: type[FlinkOperatorCluster]
) -> None:
    metadata = {"name": "words", "resourceVersion": "7"}
    api.answers[FLINK] = {"metadata": metadata, "spec": {}, "status": {"jobStatus": {"jobId": JOB}}}
    server = KubernetesServer("shop", ClusterError, client=ApiClient(Configuration(host=api.url)))
    of = kind(server, "words", "http://flink:8081", CHAIN, transport=RecordedFlink().transport())
    assert "a dry run" in of.check_may_rescale()
    assert [query.get("dryRun") for _, query in api.asked if "fieldManager" in query] == [["All"]]
