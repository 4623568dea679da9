"""Workloads of rarer shapes, described from answers of an API server. Usual ones: tests/integration/kubernetes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from json_stand_in import json_stand_in
from kubernetes.client import ApiClient, Configuration

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT, Resource
from engines.kubernetes.server import KubernetesServer
from planner.clusters.kubernetes_choice import chosen_objects
from planner.clusters.kubernetes_description import DescribedWorkloads, workloads_description
from planner.errors import ClusterError

Described = Callable[..., DescribedWorkloads]


def _workload(name: str, replicas: int, **resources: Any) -> dict[str, Any]:
    metadata = {"name": name, "generation": 1, "creationTimestamp": "2026-01-05T00:00:00Z"}
    template = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    status = {"observedGeneration": 1, **dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), replicas)}
    return {"metadata": metadata, "spec": {"replicas": replicas, "template": template}, "status": status}


def _scaler(name: str, target: str, **spec: Any) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    return {"metadata": {"name": name}, "spec": {"scaleTargetRef": reference, **spec}}


@pytest.fixture
def described() -> Iterator[Described]:
    """Of the Deployments that are given, with the scalers that are there."""
    with json_stand_in() as api:

        def path(resource: Resource) -> str:
            return f"/apis/{resource.group}/{resource.version}/namespaces/shop/{resource.plural}"

        def of(*deployments: dict[str, Any], hpas: Any = (), scaled_objects: Any = ()) -> DescribedWorkloads:
            api.answers[path(DEPLOYMENT)] = {"items": list(deployments)}
            api.answers[path(AUTOSCALER)] = {"items": list(hpas)}
            if scaled_objects:  # else KEDA is not there, and its kind not served
                api.answers[path(SCALED_OBJECT)] = {"items": list(scaled_objects)}
            server = KubernetesServer("shop", ClusterError, client=ApiClient(Configuration(host=api.url)))
            names = [f"deployment/{body['metadata']['name']}" for body in deployments]
            return workloads_description(server, chosen_objects(server, None, names, None))

        yield of


def test_a_pod_without_requests__is_given_its_limits_or_a_question(described: Described) -> None:
    """1500m and 1 GiB are the limits of the only container."""
    limited = _workload("orders", 1, limits={"cpu": "1500m", "memory": "1Gi"})
    orders, bills = described(limited, _workload("bills", 1)).job.operators
    assert (orders.cores, orders.memory_mib, orders.question) == (1.5, 1024, "")
    assert (bills.cores, bills.memory_mib) == (None, None)
    assert "what does one replica take? Its pods request no cores and memory_mib" in bills.question


def test_what_is_scaled_to_zero__counts_as_one_replica_and_is_asked_about(described: Described) -> None:
    (orders,) = described(_workload("orders", 0)).job.operators
    assert orders.parallelism == 1
    assert "it is scaled to 0" in orders.question


def test_bounds__beyond_what_operators_usually_have_raise_their_limit(described: Described) -> None:
    """128 instances are what a topology file allows where it does not say."""
    few, many = described(
        _workload("few", 2),
        _workload("many", 2),
        hpas=[_scaler("few", "few", maxReplicas=128), _scaler("many", "many", maxReplicas=300)],
    ).job.operators
    assert (few.max_parallelism, many.max_parallelism) == (None, 300)


def test_two_scalers_of_one_workload__are_asked_about_and_neither_is_bound(described: Described) -> None:
    made = described(
        _workload("orders", 2),
        hpas=[_scaler("by-hand", "orders", maxReplicas=9)],
        scaled_objects=[_scaler("orders", "orders", maxReplicaCount=5)],
    )
    assert "hpa/by-hand and scaledobject/orders scale deployment/orders" in made.job.operators[0].question
    assert {name: str(each) for name, each in made.objects.items()} == {"orders": "deployment/orders"}
    assert [term.value for term in made.job.terms if term.name == "mode"] == ["shadow"]


def test_a_scaler_of_another_workload__or_of_another_kind_is_left_aside(described: Described) -> None:
    rollout = _scaler("orders", "orders", maxReplicas=9)
    rollout["spec"]["scaleTargetRef"]["kind"] = "Rollout"
    made = described(_workload("orders", 2), hpas=[rollout, _scaler("bills", "bills", maxReplicas=9)])
    assert [str(each) for each in made.objects.values()] == ["deployment/orders"]
    assert [term.name for term in made.job.terms] == ["max_instances", "lead_s", "downtime_s"]


def test_a_bound_that_keda_leaves_out__is_its_default(described: Described) -> None:
    """0 to 100, as its documentation says: no lower bound for a plan."""
    made = described(_workload("orders", 2), scaled_objects=[_scaler("orders", "orders", triggers=[])])
    terms = {term.name: term.value for term in made.job.terms}
    assert terms["max_parallelism"] == {"orders": 100}
    assert "min_parallelism" not in terms


def test_what_is_not_ready__is_told_as_it_is(described: Described) -> None:
    body = _workload("orders", 3)
    body["status"]["readyReplicas"] = 1
    job = described(body).job
    assert (job.runs, job.state) == (False, "deployment/orders has 1 of 3 replicas ready")
