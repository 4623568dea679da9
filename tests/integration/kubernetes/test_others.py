"""What somebody else does to the same objects is never overwritten, and always told with their name."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes_controllers import Controllers
from kubernetes_objects import autoscaler, deployment, namespace, quota, scaled_object
from kubernetes_server import LocalKubernetes

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, Resource
from engines.kubernetes.server import Answer, KubernetesServer
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Failed, Pending, Refusal, Status
from planner.clusters.kubernetes import AutoscaledKubernetesCluster, KubernetesCluster
from planner.errors import ClusterError

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

TOPOLOGY = Topology("shop", (Operator("orders", 20), Operator("bills", 20)), (Stream("orders", "bills"),))
OPERATORS = {"orders": "deployment/orders", "bills": "deployment/bills"}
BEFORE, AFTER = PhysicalPlan("shop", {"orders": 2, "bills": 1}), PhysicalPlan("shop", {"orders": 5, "bills": 3})
TAKE_OVER = frozenset({"OpenAPI-Generator"})
_places = (f"others-{number}" for number in itertools.count())


class Interrupted(KubernetesServer):
    """Somebody else is quicker: does something once, right before the change of that number, dry runs among them."""

    def __init__(self, server: KubernetesServer, number: int, happens: Callable[[], object]) -> None:
        super().__init__(server.namespace, ClusterError, client=server._client)
        self._left, self._happens = number, happens

    def apply(self, resource: Resource, name: str, fields: Mapping[str, Any], **how: Any) -> Answer:
        self._left -= 1
        if self._left == 0:
            self._happens()
        return super().apply(resource, name, fields, **how)


@pytest.fixture
def place(kubernetes: LocalKubernetes) -> str:
    name = next(_places)
    kubernetes.create(namespace(name))
    kubernetes.create(deployment("orders", 2), deployment("bills", 1), namespace=name)
    return name


def _cluster(server: KubernetesServer, take_over: frozenset[str] = TAKE_OVER) -> KubernetesCluster:
    return KubernetesCluster(server, TOPOLOGY, OPERATORS, take_over)


def _scaled(kubernetes: LocalKubernetes, place: str, name: str, replicas: int, manager: str = "kubectl") -> None:
    """As `kubectl scale` and autoscalers do."""
    from kubernetes.client import AppsV1Api

    body = {"spec": {"replicas": replicas}}
    AppsV1Api(kubernetes.client()).patch_namespaced_deployment_scale(
        name, place, body, field_manager=manager, _content_type="application/merge-patch+json"
    )


def _replicas(kubernetes: LocalKubernetes, place: str) -> dict[str, int]:
    return dict(_cluster(kubernetes.server(place)).state().plan.parallelism)


def test_apply__names_the_manager_whose_replicas_they_are(kubernetes: LocalKubernetes, place: str) -> None:
    _scaled(kubernetes, place, "bills", 4, "helm")
    _scaled(kubernetes, place, "bills", 1, "helm")
    refusal = _cluster(kubernetes.server(place)).apply(AFTER, expected=BEFORE)
    assert isinstance(refusal, Refusal)
    assert "deployment/bills: 'helm' sets what the plan would" in refusal.reason
    assert "name it in cluster.take_over" in refusal.reason
    assert _replicas(kubernetes, place) == {"orders": 2, "bills": 1}


def test_apply__takes_over_from_managers_that_the_file_names(kubernetes: LocalKubernetes, place: str) -> None:
    _scaled(kubernetes, place, "bills", 4, "helm")
    _scaled(kubernetes, place, "bills", 1, "helm")
    cluster = _cluster(kubernetes.server(place), TAKE_OVER | {"helm"})
    assert isinstance(cluster.apply(AFTER, expected=BEFORE), Accepted)
    assert _replicas(kubernetes, place) == {"orders": 5, "bills": 3}


def test_apply__refuses_what_somebody_scaled_since_the_decision(kubernetes: LocalKubernetes, place: str) -> None:
    _scaled(kubernetes, place, "orders", 7)
    refusal = _cluster(kubernetes.server(place)).apply(AFTER, expected=BEFORE)
    assert isinstance(refusal, Refusal)
    assert "deployment/orders has replicas 7, set by kubectl, not 2 as was assumed" in refusal.reason


def test_apply__refuses_a_half_that_somebody_else_set(kubernetes: LocalKubernetes, place: str) -> None:
    """As after a crash, orders are as wanted and bills as expected; but it was not we who set the orders."""
    _scaled(kubernetes, place, "orders", 5)
    refusal = _cluster(kubernetes.server(place)).apply(AFTER, expected=BEFORE)
    assert isinstance(refusal, Refusal)
    assert "set by kubectl" in refusal.reason
    assert _replicas(kubernetes, place) == {"orders": 5, "bills": 1}


@pytest.mark.parametrize(
    ("taken_over", "reason"),
    [
        ("nobody", "deployment/bills: 'kubectl' sets what the plan would"),
        ("kubectl", "deployment/bills has replicas 9, set by kubectl, not 1"),
    ],
)
@pytest.mark.parametrize("number", range(1, 9))
def test_apply__puts_back_its_half_where_somebody_scales_the_other(
    kubernetes: LocalKubernetes, place: str, number: int, taken_over: str, reason: str
) -> None:
    """A request against the version that was read cannot overwrite what came in between.

    Each replica count is asked for twice, as those who made the objects own it, and all that twice, first as a dry run.
    """
    quicker = Interrupted(kubernetes.server(place), number, lambda: _scaled(kubernetes, place, "bills", 9))
    refusal = _cluster(quicker, TAKE_OVER | {taken_over}).apply(AFTER, expected=BEFORE)
    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason or "deployment/bills has replicas 9" in refusal.reason
    assert _replicas(kubernetes, place) == {"orders": 2, "bills": 9}


@pytest.mark.parametrize("number", [1, 3])
def test_apply__goes_on_where_only_the_status_changed_meanwhile(
    kubernetes: LocalKubernetes, place: str, number: int
) -> None:
    from kubernetes.client import AppsV1Api

    def status() -> None:
        body = {"status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 1}}
        AppsV1Api(kubernetes.client()).patch_namespaced_deployment_status(
            "orders", place, body, field_manager="kube-controller-manager"
        )

    quicker = Interrupted(kubernetes.server(place), number, status)
    assert isinstance(_cluster(quicker).apply(AFTER, expected=BEFORE), Accepted)
    assert _replicas(kubernetes, place) == {"orders": 5, "bills": 3}


def test_progress_and_undo__leave_to_others_what_they_changed(kubernetes: LocalKubernetes, place: str) -> None:
    cluster = _cluster(kubernetes.server(place))
    accepted = cluster.apply(AFTER, expected=BEFORE)
    assert isinstance(accepted, Accepted)
    _scaled(kubernetes, place, "orders", 7)
    progress = cluster.progress(accepted)
    assert isinstance(progress, Failed)
    assert "orders 7 · bills 3" in progress.reason
    refusal = cluster.undo(accepted)
    assert isinstance(refusal, Refusal)
    assert "deployment/orders has replicas 7, set by kubectl, not 5" in refusal.reason
    assert _replicas(kubernetes, place) == {"orders": 7, "bills": 3}


def test_progress__waits_for_replicas_that_are_not_ready(kubernetes: LocalKubernetes, place: str) -> None:
    controllers = Controllers(kubernetes, place, (DEPLOYMENT,))
    cluster = _cluster(kubernetes.server(place))
    accepted = cluster.apply(AFTER, expected=BEFORE)
    assert isinstance(accepted, Accepted)
    controllers.stuck.add("orders")
    controllers.turn()
    progress = cluster.progress(accepted)
    assert isinstance(progress, Pending)
    assert progress.reason == "deployment/orders has 0 of 5 replicas ready"
    assert cluster.state().status is Status.DOWN


def test_apply__refuses_more_pods_than_a_quota_leaves(kubernetes: LocalKubernetes, place: str) -> None:
    """Of 6 pods 3 run: 3 are left, and the plan adds 5."""
    kubernetes.create(quota("few", 6), namespace=place)
    Controllers(kubernetes, place, (DEPLOYMENT,)).turn()
    refusal = _cluster(kubernetes.server(place)).apply(AFTER, expected=BEFORE)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == (
        "the plan needs 5 more of pods > 3 left by resourcequota/few; raise the quota, or lower a parallelism"
    )
    assert _cluster(kubernetes.server(place)).state().free_slots == 3


def test_apply__tells_that_an_autoscaler_scales_the_operator(kubernetes: LocalKubernetes, place: str) -> None:
    kubernetes.create(autoscaler("orders", 1, 9), autoscaler("bills", 1, 9), namespace=place)
    objects = {"orders": "hpa/orders", "bills": "hpa/bills"}
    cluster = AutoscaledKubernetesCluster(kubernetes.server(place), TOPOLOGY, objects, TAKE_OVER)
    refusal = cluster.apply(AFTER, expected=BEFORE)
    assert isinstance(refusal, Refusal)
    assert "operator 'orders' is scaled by hpa/orders" in refusal.reason
    assert "for any other plan set the bounds there by hand" in refusal.reason


def test_floor__holds_while_the_autoscaler_goes_above_it(kubernetes: LocalKubernetes, place: str) -> None:
    """The floor of 5 and 3 is reached, then the load asks for 8 orders: still verified, since the same moment."""
    kubernetes.create(autoscaler("orders", 2, 9), autoscaler("bills", 1, 9), namespace=place)
    objects = {"orders": "hpa/orders", "bills": "hpa/bills"}
    cluster = AutoscaledKubernetesCluster(kubernetes.server(place), TOPOLOGY, objects, TAKE_OVER)
    controllers = Controllers(kubernetes, place, (AUTOSCALER, DEPLOYMENT))
    floor = cluster.scaler_floor()
    accepted = floor.apply(AFTER, expected=BEFORE)
    assert isinstance(accepted, Accepted)
    assert isinstance(floor.progress(accepted), Pending)
    controllers.turn()
    reached = floor.progress(accepted)
    controllers.demand["orders"] = 8
    controllers.turn()
    assert floor.progress(accepted) == reached
    assert cluster.state().plan.parallelism == {"orders": 8, "bills": 3}
    assert floor.floor().same_parallelism(AFTER)
    assert isinstance(floor.undo(accepted), Accepted)
    assert floor.floor().same_parallelism(BEFORE)


def test_floor__refuses_a_scaled_object_that_is_paused(kubernetes: LocalKubernetes, place: str) -> None:
    paused = scaled_object("orders", 9)
    paused["metadata"]["annotations"] = {"autoscaling.keda.sh/paused-replicas": "0"}
    kubernetes.create(paused, scaled_object("bills", 9), namespace=place)
    objects = {"orders": "scaledobject/orders", "bills": "scaledobject/bills"}
    floor = AutoscaledKubernetesCluster(kubernetes.server(place), TOPOLOGY, objects, TAKE_OVER).scaler_floor()
    refusal = floor.apply(AFTER, expected=floor.floor())
    assert isinstance(refusal, Refusal)
    assert "scaledobject/orders is paused by autoscaling.keda.sh/paused-replicas: '0'" in refusal.reason


def test_state__names_what_is_not_there(kubernetes: LocalKubernetes, place: str) -> None:
    cluster = KubernetesCluster(kubernetes.server(place), TOPOLOGY, {**OPERATORS, "bills": "deployment/invoices"})
    with pytest.raises(ClusterError, match=r"has no deployment/invoices .* correct its name in cluster.operators"):
        cluster.state()
    nowhere = _cluster(kubernetes.server("nowhere"))
    with pytest.raises(ClusterError, match="namespace nowhere has no deployment/orders"):
        nowhere.state()


def test_state__says_what_to_do_about_a_workload_at_0(kubernetes: LocalKubernetes, place: str) -> None:
    _scaled(kubernetes, place, "orders", 0)
    with pytest.raises(ClusterError, match=r"parallelism 0 of operator 'orders'.*scale what is at 0 up first"):
        _cluster(kubernetes.server(place)).state()


def test_identity__of_a_pod_is_its_service_account(
    kubernetes: LocalKubernetes, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes.config import incluster_config, kube_config

    host, port = kubernetes.url.removeprefix("https://").split(":")
    (tmp_path / "token").write_text("token-of-admin")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(kubernetes.authority))
    monkeypatch.setattr("kubernetes.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    assert _cluster(KubernetesServer(place, ClusterError)).state().plan.same_parallelism(BEFORE)
