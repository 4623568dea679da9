"""A plan that a person asks for where a scaler has the last word: refused with what can be done instead."""

from datetime import UTC, datetime
from typing import cast

from engines.kubernetes.resources import Resource
from engines.kubernetes.server import Answer, KubernetesServer
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Topology
from planner.clusters.cluster import Refusal
from planner.clusters.kubernetes import AutoscaledKubernetesCluster

AT = "2026-01-05T08:00:00Z"


class Server:
    """One Deployment of 2 replicas, and its autoscaler."""

    def get(self, resource: Resource, name: str) -> Answer:
        spec = {"replicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": name}}
        body = {"metadata": {"name": name, "creationTimestamp": AT}, "spec": spec, "status": {}}
        return Answer(body, datetime(2026, 1, 5, 8, tzinfo=UTC))


def test_apply__does_not_ask_for_a_mode_that_is_set() -> None:
    topology = Topology("shop", (Operator("orders"),), ())
    cluster = AutoscaledKubernetesCluster(cast(KubernetesServer, Server()), topology, {"orders": "hpa/orders"})
    refusal = cluster.apply(PhysicalPlan("shop", {"orders": 5}), expected=PhysicalPlan("shop", {"orders": 2}))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == (
        "operator 'orders' is scaled by hpa/orders, which would undo the plan; schedules raise its lower bound "
        "(planning.mode: floor), for any other plan set the bounds there by hand"
    )
