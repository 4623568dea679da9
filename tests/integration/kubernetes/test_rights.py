"""The manifests of rights are enough for a deployment with its undoing, and no more: each verb is needed."""

from collections.abc import Iterator

import pytest
from kubernetes_controllers import Controllers
from kubernetes_objects import autoscaler, deployment, namespace, scaled_object, stateful_set
from kubernetes_rights import Right, give, manifest, rights_of, service_token
from kubernetes_server import LocalKubernetes
from patience import until

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT, STATEFUL_SET
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Accepted, Refusal, Verified
from planner.clusters.kubernetes import AutoscaledKubernetesCluster, KubernetesCluster
from planner.clusters.kubernetes_floor import KubernetesFloor
from planner.errors import ClusterError

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

TOPOLOGY = Topology("shop", (Operator("orders", 20), Operator("prices", 20)), (Stream("orders", "prices"),))
MODES = {
    "replicas": {"orders": "deployment/orders", "prices": "statefulset/prices"},
    "hpa": {"orders": "hpa/orders", "prices": "hpa/prices"},
    "keda": {"orders": "scaledobject/orders", "prices": "scaledobject/prices"},
}
CASES = [pytest.param(mode, right, id=f"{mode}: {right}") for mode in MODES for right in rights_of(mode)]


class Accounts:
    """Per mode a namespace with its objects, and the token of the service account there."""

    def __init__(self, kubernetes: LocalKubernetes) -> None:
        self.kubernetes, self.tokens = kubernetes, {}
        for mode in MODES:
            kubernetes.create(namespace(_namespace(mode)))
            kubernetes.create(deployment("orders", 2), stateful_set("prices", 1), namespace=_namespace(mode))
            kubernetes.create(*manifest(mode), namespace=_namespace(mode))
            self.tokens[mode] = service_token(kubernetes, _namespace(mode), mode)
        for name, kind in (("orders", DEPLOYMENT), ("prices", STATEFUL_SET)):
            kubernetes.create(autoscaler(name, 1, 9, kind), namespace=_namespace("hpa"))
            kubernetes.create(scaled_object(name, 9, kind), namespace=_namespace("keda"))

    def cluster(self, mode: str, without: Right | None) -> KubernetesCluster:
        give(self.kubernetes, _namespace(mode), mode, self.tokens[mode], without)
        server = self.kubernetes.server(_namespace(mode), f"account-{mode}", self.tokens[mode])
        kind = KubernetesCluster if mode == "replicas" else AutoscaledKubernetesCluster
        return kind(server, TOPOLOGY, MODES[mode], frozenset({"OpenAPI-Generator"}))


@pytest.fixture(scope="module")
def accounts(kubernetes: LocalKubernetes) -> Iterator[Accounts]:
    made = Accounts(kubernetes)
    kinds = {"replicas": (DEPLOYMENT, STATEFUL_SET), "hpa": (AUTOSCALER,), "keda": (SCALED_OBJECT,)}
    every = (DEPLOYMENT, STATEFUL_SET)
    controllers = [Controllers(kubernetes, _namespace(mode), (*kinds[mode], *every)) for mode in MODES]
    with controllers[0].running(), controllers[1].running(), controllers[2].running():
        yield made
    assert [error for each in controllers for error in each.errors] == []


@pytest.mark.parametrize("mode", MODES)
def test_rights__are_enough_to_deploy_verify_and_undo_and_doctor_says_so(accounts: Accounts, mode: str) -> None:
    cluster = accounts.cluster(mode, without=None)
    assert "a dry run of " in cluster.check_may_rescale()
    assert _deployed_and_undone(cluster) == ""


@pytest.mark.parametrize(("mode", "right"), CASES)
def test_rights__are_no_more_than_are_needed_and_doctor_misses_each(
    accounts: Accounts, mode: str, right: Right
) -> None:
    cluster = accounts.cluster(mode, without=right)
    with pytest.raises(ClusterError) as missed:
        cluster.check_may_rescale()
    for told in (str(missed.value), _deployed_and_undone(cluster)):
        assert f"does not let us {right.verb} " in told
        assert f"grant the verb {right.verb} on {right.resource} of API group {right.group!r}" in told


def _deployed_and_undone(cluster: KubernetesCluster) -> str:
    """One instance more of each operator, and back again; what was said against it, if anything."""
    try:
        before = cluster.state().plan
        floor = cluster.scaler_floor() if isinstance(cluster, AutoscaledKubernetesCluster) else None
        setter: KubernetesCluster | KubernetesFloor = cluster if floor is None else floor
        before = before if floor is None else floor.floor()
        more = {name: count + 1 for name, count in before.parallelism.items()}
        accepted = setter.apply(type(before)(before.topology, more), expected=before)
        if isinstance(accepted, Refusal):
            return accepted.reason
        _verify(setter, accepted)
        back = setter.undo(accepted)
        assert isinstance(back, Accepted), back
        _verify(setter, back)
    except ClusterError as error:
        return str(error)
    return ""


def _verify(setter: KubernetesCluster | KubernetesFloor, accepted: Accepted) -> None:
    until(lambda: isinstance(setter.progress(accepted), Verified))


def _namespace(mode: str) -> str:
    return f"rights-{mode}"
